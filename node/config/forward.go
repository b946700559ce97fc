package config

// Forward is a link to another node, which gets the messages of some tags.
type Forward struct {
	// Name is shown in logs and metrics, and names the directory of the messages that wait, data_dir/forward/NAME: 1 to 64
	// letters, digits, - and _.
	Name string `yaml:"name" schema:"required"`

	// Address is that of a listener of the other node, as quic://HOST:PORT, tls://HOST:PORT or tcp://HOST:PORT.
	Address string `yaml:"address" schema:"required"`

	// Tags are the tags that are forwarded; + and # are wildcards.
	Tags []string `yaml:"tags" schema:"required"`

	// Token is the secret of the identity that this node has at the other one. That identity needs the verb forward.
	Token string `yaml:"token,omitempty"`

	// TokenFile is a file with the token.
	TokenFile string `yaml:"token_file,omitempty"`

	// CertFile is a PEM certificate that identifies this node instead of a token. A changed file is used by the next connection.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`

	// CAFile is the PEM file of CAs that the other node's certificate is verified by, such as a copy of its data_dir/ca.pem. Empty
	// means the CA of this node's data_dir.
	CAFile string `yaml:"ca_file,omitempty"`

	// Insecure permits an unencrypted address beyond this machine, where token and messages cross the network in the clear.
	Insecure bool `yaml:"insecure,omitempty"`

	// Spool is where messages wait while the other node is away or slow.
	Spool Spool `yaml:"spool,omitempty"`
}

// Spool is a bounded queue of messages on disk.
type Spool struct {
	// Size bounds its files. Zero means 1GiB.
	Size Size `yaml:"size,omitempty"`

	// Sync makes the node wait until messages are on the disk. Without it they survive the end of the process, but the latest
	// ones may be lost when the machine loses power.
	Sync bool `yaml:"sync,omitempty"`

	// Full is what happens to messages while the spool is full: drop counts and drops new ones, block makes their publishers
	// wait. Empty means drop.
	Full WhenFull `yaml:"full,omitempty"`
}

// WhenFull is what happens to messages for which a spool has no room.
type WhenFull string

// The values of WhenFull.
const (
	FullDrop  WhenFull = "drop"
	FullBlock WhenFull = "block"
)
