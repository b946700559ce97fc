package proxy

import "example.com/ferry/internal/invalid"

// Error is one thing wrong in a Config. Its Field is such as listeners[0].routes[2].match.path.
type Error = invalid.Error

// Errors is everything wrong in a Config. It is never empty.
type Errors = invalid.Errors
