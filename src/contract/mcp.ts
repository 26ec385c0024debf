// The words of the MCP endpoint: versions, error numbers and header names.

export const mcpVersions = ["2025-06-18", "2025-11-25", "2026-07-28"] as const;
export const mcpStatelessVersion = "2026-07-28";

export const mcpErrors = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  timeout: -32000,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

export const mcpMeta = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  serverInfo: "io.modelcontextprotocol/serverInfo",
} as const;

export type McpId = string | number;
