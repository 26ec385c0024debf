// The relay with the carrier of systems without poll(2), as a program: AUDIT CMD ARGS…
import { relay } from "../../src/relay/relay.ts";

const [auditPath = "", ...command] = process.argv.slice(2);
const end = await relay({ auditPath, command, environment: process.env, cwd: process.cwd(), overStreams: true });
if (end.fault !== null) console.error(`[${end.fault}]`);
process.exit(end.status);
