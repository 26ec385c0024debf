// Refusals of the calibration room.
export const calibrateCodes = {
  calibrate_subject_unknown: "There is no subject with this id in the catalogue.",
  calibrate_times_invalid: "Honest subjects can be repeated 1 to 50 times.",
  calibrate_fault_times_invalid: "Faults can be repeated 1 to 20 times.",
} as const;
export type CalibrateCode = keyof typeof calibrateCodes;
