package main

import (
	"os"

	"example.com/ferry/cmd/ferry/cli"
	"example.com/ferry/format/all"
	"example.com/ferry/node"
)

func main() {
	formats := all.Formats()
	os.Exit(cli.Main(node.Extensions{Formats: formats, Transports: node.Transports(), Functions: node.Functions(formats)}))
}
