// The one place where zod enters the house, so that what it costs is paid where a schema is really needed.
// Strict objects for formats we own; `z.looseObject` only for input that others own.
export { z } from "zod";
