// The exit numbers of the whole program. Never 2: hook hosts give it a meaning of their own.
export const exitNumbers = { done: 0, failed: 1, usage: 64, ownFault: 125 } as const;
