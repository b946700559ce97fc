package web

import (
	_ "embed" // for the description

	client "example.com/ferry/clients/web"
)

// openAPI describes the server: https://spec.openapis.org/oas/v3.1.0.
//
//go:embed openapi.json
var openAPI []byte

// module is the client for browsers.
var module = client.Module
