package cli

import "example.com/ferry/node/config"

type schemaCmd struct{}

// Help returns the part of ferry schema --help that is not in the grammar.
func (*schemaCmd) Help() string {
	return `With this schema, an editor with a YAML language server completes and checks a configuration:

    ferry schema >ferry.schema.json
    # yaml-language-server: $schema=ferry.schema.json     the first line of node.yaml`
}

// Run prints the schema.
func (*schemaCmd) Run(e *env) error { return e.print(config.Schema) }
