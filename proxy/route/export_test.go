package route

import "example.com/ferry/format"

// NewWithGroups is New with another number of routes that make a group.
func NewWithGroups(c *Config, formats []format.Format, least int) (*Table, error) {
	return newTable(c, formats, nil, least)
}
