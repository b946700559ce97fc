// Command edgex is an EdgeX app service in one page: it reads a message from stdin, as it came from the bus in any of
// EdgeX's wire forms, and writes it to stdout as events of pumps only, tagged, without their noise, in JSON. Nothing is
// decoded on the way. Status 1 means an error, which stderr tells; a message that is filtered out gives no output.
package main

import (
	"io"
	"log"
	"os"

	"example.com/ferry/edgex"
	"example.com/ferry/edgex/pipeline"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, out io.Writer) error {
	pumps, err := pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump-"}})
	if err != nil {
		return err
	}
	quiet, err := pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"^noise$"}, Out: true})
	if err != nil {
		return err
	}
	p := pipeline.New(nil, pumps, quiet, pipeline.AddTags(edgex.Tag{Name: "site", Value: "dock"}), pipeline.Transform(edgex.JSON))

	data, err := io.ReadAll(io.LimitReader(in, edgex.MaxEvent+1))
	if err != nil {
		return err
	}
	message, ok, err := p.Run(data)
	if err != nil || !ok {
		return err
	}
	_, err = out.Write(append(message, '\n'))
	return err
}
