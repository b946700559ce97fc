package config

import "time"

// Bridge is a connection to another MQTT broker, in one or both directions.
type Bridge struct {
	// Name is shown in logs and metrics, and names the directory of the messages that wait, data_dir/bridges/NAME: 1 to 64
	// letters, digits, - and _.
	Name string `yaml:"name" schema:"required"`

	// Address is that of the broker, which must speak MQTT 5: mqtt://HOST:PORT or mqtts://HOST:PORT.
	Address string `yaml:"address" schema:"required"`

	// In are filters of the broker's topics; + and # are wildcards. Their messages are published on the tags of this node.
	In []string `yaml:"in,omitempty"`

	// InPrefix stands before a topic of the broker in its tag, such as cloud/.
	InPrefix string `yaml:"in_prefix,omitempty"`

	// Out are filters of the tags of this node. Their messages are published on the broker's topics.
	Out []string `yaml:"out,omitempty"`

	// OutPrefix stands before a tag of this node in its topic, such as site-1/.
	OutPrefix string `yaml:"out_prefix,omitempty"`

	// ClientID is the identifier of the session at the broker. Two clients with one identifier disconnect each other. Empty means
	// ferry-NODE-NAME, with the id of this node.
	ClientID string `yaml:"client_id,omitempty"`

	// User identifies this node at the broker, with password or password_file.
	User string `yaml:"user,omitempty"`

	// Password is the secret of user.
	Password string `yaml:"password,omitempty" secret:"true"`

	// PasswordFile is a file with the password.
	PasswordFile string `yaml:"password_file,omitempty"`

	// CertFile is a PEM certificate that identifies this node at the broker. A changed file is used by the next connection.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`

	// CAFile is the PEM file of CAs that the broker's certificate is verified by. Empty means those of the system.
	CAFile string `yaml:"ca_file,omitempty"`

	// Insecure permits an mqtt:// address beyond this machine, where password and messages cross the network in the clear.
	Insecure bool `yaml:"insecure,omitempty"`

	// KeepAlive is the longest time without a packet to the broker, 1s to 65535s. Zero means 30s.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// SessionExpiry is how long the broker keeps messages for this node while it is away. Zero means 1h.
	SessionExpiry time.Duration `yaml:"session_expiry,omitempty"`

	// Spool is where messages to the broker wait while it is away or slow.
	Spool Spool `yaml:"spool,omitempty"`
}
