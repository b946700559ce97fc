//go:build !unix

package h1conn

// Alive reports whether an idle connection can take a request, as far as it can be known without reading.
func (c *Client) Alive() bool { return true }
