// list_tool_receipts: what was served to whom, for the operator's own check. Never shown to a model.
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import { listReceipts } from "../receipts.ts";
import { defineTool, succeed } from "../tool.ts";

export const listToolReceipts = defineTool({
  name: "list_tool_receipts",
  description: "List what the server served, newest last.",
  scopes: [],
  visibility: "hidden",
  bootstrapOnly: true,
  input: () => z.strictObject({ limit: z.int().min(1).max(serverLimits.maxReceiptsListed).optional() }),
  async run(context, args) {
    const limit = args.limit ?? serverLimits.maxReceiptsListed;
    return succeed({ receipts: await context.store.read((db) => listReceipts(db, limit)) });
  },
});
