"""Providers that do not speak OpenAI's protocol, through LiteLLM (extra `litellm`).

LiteLLM translates a chat completion into the provider's format, and the answer back; keys come from
its environment variables (`ANTHROPIC_API_KEY`, …). Retries and limits stay ours.
"""

from __future__ import annotations

import json
import os
from typing import Any

from revise_captions.engines.openai.http import Answer, Send
from revise_captions.engines.server_options import ServerOptions
from revise_captions.errors import UserError


def by_litellm(options: ServerOptions, timeout: float) -> Send:
    """Sends chat completions through LiteLLM; any other path gives 404.

    Args:
        options: Headers.
        timeout: Seconds for one try.

    Raises:
        UserError: LiteLLM is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads prices
    try:
        import litellm
    except ImportError as error:
        raise UserError(
            f"litellm/… needs the package {error.name}",
            hint="pip install 'revise-captions[litellm]'",
        ) from None
    litellm.suppress_debug_info = True  # it prints advice to standard output

    def send(method: str, url: str, body: dict[str, Any] | None) -> Answer:
        if body is None or not url.endswith("/chat/completions"):
            return Answer(404, "", b"{}")
        try:
            found = litellm.completion(
                **body, timeout=timeout, num_retries=0, extra_headers=options.headers or None
            )
        except Exception as error:
            status = getattr(error, "status_code", None)
            if not isinstance(status, int):
                raise
            response = getattr(error, "response", None)
            asked = getattr(response, "headers", {}).get("retry-after", "")
            said = {"error": {"message": str(error)}}
            return Answer(max(status, 400), str(asked), json.dumps(said).encode())
        return Answer(200, "", found.model_dump_json().encode())

    return send
