"""A client of `capexplorer mcp`, by the library that speaks its protocol."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client, types

from capexplorer.commands.mcp import serving


class Agent:
    """A client of the server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.progress: list[str | None] = []

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        result = await self.client.call_tool(tool, arguments, progress_callback=self._take)
        assert isinstance(result, types.CallToolResult)
        return result

    async def _take(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(message)

    async def data(self, tool: str, **arguments: Any) -> Any:
        result = await self.call(tool, **arguments)
        assert not result.is_error, text(result)
        assert json.loads(text(result)) == result.structured_content
        assert result.structured_content["about"] == serving.DATA
        return result.structured_content["data"]

    async def refusal(self, tool: str, **arguments: Any) -> str:
        result = await self.call(tool, **arguments)
        assert result.is_error
        (line,) = text(result).splitlines()
        return line


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
