// Package python has the Python client of ferry: ferry_client, with asyncio and the standard library only. README.md describes it.
//
// In Go, the package has the one file of it that `ferry new function --lang python` copies.
package python

import _ "embed" // for the file

// Worker is ferry_client/worker.py, which a function in Python imports to be a worker of a node. It imports the standard library only.
//
//go:embed ferry_client/worker.py
var Worker []byte
