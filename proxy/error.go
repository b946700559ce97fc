package proxy

import "example.com/ferry/internal/invalid"

// Error is one error in a Config. Its Field is a path such as listeners[0].routes[2].match.path.
type Error = invalid.Error

// Errors is the list of all errors in a Config. It is never empty.
type Errors = invalid.Errors
