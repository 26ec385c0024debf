// Runs a whole gateway over one private runtime folder until it is told to stop, and leaves no socket or secret.
import { join } from "node:path";
import { AuditLog } from "./audit-log.ts";
import type { BootstrapFile } from "./bootstrap-file.ts";
import { type Operator, serveControl } from "./control.ts";
import { openGateway } from "./gateway.ts";
import type { Permission } from "./permissions.ts";
import { claimRuntimeFolder } from "./runtime-folder.ts";
import type { OpenUpstream } from "./upstream.ts";

export interface ServeOptions {
  readonly folder: string;
  readonly upstream: OpenUpstream;
  readonly port: number | null;
  readonly socketPath?: string;
  readonly clientHome?: string;
  readonly forwardedPorts: readonly number[];
  readonly allowedMethods: readonly string[];
  readonly onReady: (addresses: readonly string[]) => void;
  /** Resolves when the operator's signal came. */
  readonly stopAsked: Promise<void>;
}

export async function serveGateway(options: ServeOptions): Promise<void> {
  const lock = await claimRuntimeFolder(options.folder);
  try {
    await serveClaimed(options);
  } finally {
    lock.release();
  }
}

async function serveClaimed(options: ServeOptions): Promise<void> {
  const audit = new AuditLog(join(options.folder, `audit-${Date.now()}-${process.pid}.jsonl`));
  const { gateway, bootstrap } = openGateway({
    folder: options.folder,
    upstream: options.upstream,
    forwardedPorts: options.forwardedPorts,
    allowedMethods: new Map(options.allowedMethods.map((method) => [method, "interact" as Permission])),
    audit,
    ...(options.clientHome === undefined ? {} : { clientHome: options.clientHome }),
  });
  const addresses: string[] = [];
  const terminated = Promise.withResolvers<void>();
  let file: BootstrapFile | null = null;
  let operator: Operator | null = null;
  let endControl = () => {};
  try {
    if (options.port !== null) addresses.push(`ws://${(await gateway.listenTcp(options.port)).address}/`);
    if (options.socketPath !== undefined)
      addresses.push(`unix:${(await gateway.listenUnix(options.socketPath)).address}`);
    file = gateway.writeBootstrapFile(bootstrap);
    operator = { gateway, folder: options.folder, bootstrap, file, addresses, onTerminated: terminated.resolve };
    endControl = await serveControl(operator);
    options.onReady(addresses);
    await Promise.race([options.stopAsked, terminated.promise]);
  } finally {
    endControl();
    (operator?.file ?? file)?.remove();
    (operator?.bootstrap ?? bootstrap).invalidate();
    await gateway.registry.revokeAll();
    await gateway.stop();
    audit.close();
  }
}
