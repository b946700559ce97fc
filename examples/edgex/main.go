// Command edgex is a small EdgeX app service. It reads a message from stdin, in any of EdgeX's wire forms. If the message
// is an event of a pump, it writes it to stdout in JSON, with a tag, and without readings of noise; otherwise it writes nothing.
// It does not decode the event. Exit status 1 means an error, which it prints to stderr.
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
