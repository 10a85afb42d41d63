"""The API, `/api/v1`: what the pages show and do, as JSON. docs/api.md describes it; `openapi.json` is the contract."""
