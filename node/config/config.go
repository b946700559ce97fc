package config

import (
	"strings"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
)

// Config is the configuration of a node. Relative paths resolve against the working directory.
type Config struct {
	// Include are further files, whose sections join those of this one: conf.d/*.yaml, or a list of such patterns. Relative ones begin at
	// the folder of this file. Lists append, mappings merge, and a value that two files set is an error.
	Include Filters `yaml:"include,omitempty"`

	// Listeners are the addresses that clients of streams connect to. A file that names listeners, or a proxy, has no default
	// ones. A node with a proxy and without listeners has no streams.
	Listeners []Listener `yaml:"listeners,omitempty"`

	// Proxy forwards requests of other protocols. It has its own listeners.
	Proxy *proxy.Config `yaml:"proxy,omitempty"`

	// Admin is the HTTP server for dashboard, metrics and probes.
	Admin Admin `yaml:"admin,omitempty"`

	// DataDir holds the local CA, the local token, and the streams of the embedded engine. It is created on first start.
	DataDir string `yaml:"data_dir,omitempty"`

	// Names are further host names and IP addresses that clients connect by, for the certificate that the node makes. It has
	// those of the listeners, this machine's host name and localhost in any case.
	Names []string `yaml:"names,omitempty"`

	// Identities are the clients beside "local", which has the token in data_dir and all grants.
	Identities []Identity `yaml:"identities,omitempty"`

	// Limits bound the memory that clients can make the node use.
	Limits Limits `yaml:"limits,omitempty"`

	// Drain is how the node ends: on SIGTERM, or on SIGINT.
	Drain Drain `yaml:"drain,omitempty"`

	// MQTT bounds what the node keeps of the clients of listeners for MQTT.
	MQTT MQTT `yaml:"mqtt,omitempty"`

	// Engine stores the streams.
	Engine Engine `yaml:"engine,omitempty"`

	// Streams are what the engine stores. The messages of other tags go to the subscribers that are connected, at most once.
	Streams []Stream `yaml:"streams,omitempty"`

	// Forward are links to other nodes, which get the messages of some tags.
	Forward []Forward `yaml:"forward,omitempty"`

	// Bridges connect this node to other MQTT brokers.
	Bridges []Bridge `yaml:"bridges,omitempty"`

	// Serve offers services of ordinary servers of gRPC and HTTP to the clients of the node.
	Serve []Serve `yaml:"serve,omitempty"`

	// Live turns on the sensors and functions of ferry itself. With a file they are off by default.
	Live Live `yaml:"live,omitempty"`

	// Functions run in the node: they observe tags and publish on others.
	Functions []Function `yaml:"functions,omitempty"`

	// Deploy bounds the functions that are deployed on the running node, by ferry deploy.
	Deploy Deploy `yaml:"deploy,omitempty"`

	// CPU is the pool that heavy functions share.
	CPU CPU `yaml:"cpu,omitempty"`

	// Log is the node's own log, on standard error.
	Log Log `yaml:"log,omitempty"`

	// secrets are the fields whose values are secrets, because of where the file has them from.
	secrets  map[string]bool `yaml:"-"`
	compiled *proxy.Compiled `yaml:"-"` // of Proxy, by the last check
}

// Listener is one address clients connect to.
type Listener struct {
	// Address is quic://HOST:PORT, tls://HOST:PORT, tcp://HOST:PORT, unix://PATH, wss://HOST:PORT/PATH, ws://HOST:PORT/PATH,
	// grpcs://HOST:PORT or grpc://HOST:PORT, or utp://HOST:PORT in binaries built with -tags utp. Clients of other protocols connect
	// to http://HOST:PORT or https://HOST:PORT, and devices to mqtt://HOST:PORT or mqtts://HOST:PORT, or with MQTT over WebSocket to
	// mqtt+ws://HOST:PORT or mqtt+wss://HOST:PORT, at any path. Ordinary clients of gRPC, and of JSON over HTTP/1.1, call services of the node at h2://HOST:PORT, or at h2c://HOST:PORT without TLS.
	Address string `yaml:"address" schema:"required"`

	// Validate is how each message is checked where it enters: full checks all of it, bounds its structure and lengths, off
	// nothing.
	Validate Validation `yaml:"validate,omitempty"`

	// CertFile is the PEM certificate of a quic, tls, wss, grpcs, https, mqtts, mqtt+wss or h2 listener. Empty means the one the node makes in data_dir. New
	// handshakes use a changed file within a few seconds, if it is valid together with key_file.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`

	// ClientCAFile is the PEM file of CAs whose client certificates are accepted. Empty means the local CA of data_dir. New
	// handshakes use a changed file within a few seconds, if it is valid.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`

	// MinVersion is the lowest version of TLS of an https, mqtts or mqtt+wss listener: "1.2" or "1.3". With 1.2, only suites with authenticated encryption are
	// accepted. Empty means 1.3.
	MinVersion upstream.TLSVersion `yaml:"min_version,omitempty"`

	// ReceiveWindow bounds what one client of a quic listener may send ahead of the node's reading, on all its streams
	// together. A client has 64KiB until it is identified. Zero means 8MiB.
	ReceiveWindow Size `yaml:"receive_window,omitempty"`

	// Insecure permits a tcp, ws, grpc, utp, http, mqtt, mqtt+ws or h2c listener beyond this machine, where tokens and messages cross the network in the clear.
	Insecure bool `yaml:"insecure,omitempty"`

	// Anonymous is the name of the identity that clients without a credential have, on an http or https listener, or one for MQTT. The identity has
	// neither token nor common_name. Empty means that such clients are refused.
	Anonymous string `yaml:"anonymous,omitempty"`

	// HTTP belongs to an http, https, mqtt+ws or mqtt+wss listener.
	HTTP HTTP `yaml:"http,omitempty"`
}

// HTTP is what only listeners have to which pages of a browser connect.
type HTTP struct {
	// Origins are the web origins, such as https://app.example.com, whose pages may use the listener. "*" permits all of them, on
	// a listener without TLS. Empty means none but pages of this machine's own address.
	Origins []string `yaml:"origins,omitempty"`
}

// MQTT bounds what the node keeps of the clients of listeners for MQTT, all of these together.
type MQTT struct {
	// Sessions bounds the sessions: those of connected clients, and those that wait for their clients.
	Sessions int `yaml:"sessions,omitempty" schema:"min=1"`

	// SessionExpiry is the longest time that a session waits for its client. A client may ask for less.
	SessionExpiry time.Duration `yaml:"session_expiry,omitempty"`

	// Retained bounds the number of retained messages.
	Retained int `yaml:"retained,omitempty" schema:"min=1"`

	// RetainedSize bounds the bytes of retained messages.
	RetainedSize Size `yaml:"retained_size,omitempty"`

	// IdentityShare is how many percent of Sessions, Retained and RetainedSize one identity may have while the others have nothing, if
	// identities has more than one entry. It may have less when the others have more, so that there is always room for another one.
	IdentityShare int `yaml:"identity_share,omitempty" schema:"min=1"`

	// PasswordFile has a line USER:HASH for each user, as ferry passwd and mosquitto_passwd write it. A user that identities names has the grants of both
	// files; any other one has those of ACLFile. The node reads a changed file within a few seconds.
	PasswordFile string `yaml:"password_file,omitempty"`

	// ACLFile is an acl_file of mosquitto, without deny. The node reads a changed file within a few seconds.
	ACLFile string `yaml:"acl_file,omitempty"`

	// LoginURL is an HTTP server that is asked about users that have no password here, by POST (docs/mqtt.md). Beyond this machine it must be https, with a
	// certificate that the system trusts. While it does not respond, these users are refused.
	LoginURL string `yaml:"login_url,omitempty"`

	// LoginTimeout bounds a request to LoginURL. Zero means 5s.
	LoginTimeout time.Duration `yaml:"login_timeout,omitempty"`

	// Queue bounds the bytes of messages that are on their way to one client and that it has not acknowledged.
	Queue Size `yaml:"queue,omitempty"`

	// InFlight bounds the number of these messages, and of those of one client that wait to be stored. At most 65535.
	InFlight int `yaml:"in_flight,omitempty" schema:"min=1"`
}

// Scheme returns the part of Address before ://.
func (l *Listener) Scheme() string {
	scheme, _, _ := strings.Cut(l.Address, "://")
	return scheme
}

// Validation is how a listener checks messages.
type Validation string

// The values of Validation.
const (
	ValidateFull   Validation = "full"
	ValidateBounds Validation = "bounds"
	ValidateOff    Validation = "off"
)

// Admin is the HTTP server for dashboard, metrics and probes.
type Admin struct {
	// Address is HOST:PORT, such as 127.0.0.1:4195. Beyond this machine's loopback the server needs token_file, and always has
	// TLS. "off" or "" starts no server.
	Address string `yaml:"address"`

	// Hosts are further host names that clients may use for the server and for metrics_address, as through a reverse proxy.
	// Requests for other names than these, localhost and IP addresses are refused.
	Hosts []string `yaml:"hosts,omitempty"`

	// TokenFile is a file with the token that requests must carry, at least 16 characters: as Authorization: Bearer, or as the
	// password that a browser asks for, with any user name. /ping and /ready need none. Empty means no token. A changed
	// file is used within a few seconds.
	TokenFile string `yaml:"token_file,omitempty"`

	// CertFile is the PEM certificate of the server. Empty means cleartext on loopback, and otherwise the certificate that the
	// node makes in data_dir.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`

	// MetricsAddress is HOST:PORT of a second server, for scrapers and probes: /metrics, /ping and /ready, to be read only,
	// without token and TLS. It may be reachable from other machines. Its responses have the names of clients, tags, routes
	// and endpoints. Empty means none.
	MetricsAddress string `yaml:"metrics_address,omitempty"`
}

// OwnCertificate reports whether the server uses the certificate that the node makes in data_dir.
func (a Admin) OwnCertificate() bool {
	return a.Address != "" && a.CertFile == "" && !isLoopback(a.Address)
}

// Identity is one client, its secret and its grants.
type Identity struct {
	// Name is shown in logs and metrics.
	Name string `yaml:"name" schema:"required"`

	// Token is the client's secret, or sha256:HEX of it.
	Token string `yaml:"token,omitempty"`

	// TokenFile is a file with the token.
	TokenFile string `yaml:"token_file,omitempty"`

	// Password is the hash of the client's password, as ferry passwd prints it. A client of MQTT sends the password, and Name as its user; one of HTTP sends both by Basic.
	Password string `yaml:"password,omitempty"`

	// CommonName is the subject of the client's certificate.
	CommonName string `yaml:"common_name,omitempty"`

	// Publish are the tags it may publish to; + and # are wildcards. ${client} stands for the name that the client gives, which is the client identifier of
	// MQTT, and ${user} for Name.
	Publish []string `yaml:"publish,omitempty"`

	// Subscribe are the tags it may observe; + and # are wildcards, and ${client} and ${user} stand for the same as in publish.
	Subscribe []string `yaml:"subscribe,omitempty"`

	// Call are the services it may call at other clients of the node: greeter.Greeter, greeter.* or "*".
	Call []string `yaml:"call,omitempty"`

	// Serve are the services whose calls it may serve for other clients of the node: greeter.Greeter, greeter.* or "*".
	Serve []string `yaml:"serve,omitempty"`

	// Verbs restrict it to publish, subscribe, call or serve. Empty means these four. Three more must be named. forward, for another
	// node, permits messages that this node got from its own clients and from further nodes, and trust_validation accepts that it
	// has validated them. deploy, for a client, permits deploying functions: it runs its own programs in the node.
	Verbs []Verb `yaml:"verbs,omitempty"`
}

// Verb is an operation that an identity may be granted.
type Verb string

// The values of Verb.
const (
	VerbPublish   Verb = "publish"
	VerbSubscribe Verb = "subscribe"
	VerbCall      Verb = "call"
	VerbServe     Verb = "serve"
	VerbDeploy    Verb = "deploy"

	VerbForward         Verb = "forward"
	VerbTrustValidation Verb = "trust_validation"
)

// Limits bound the memory that clients can make the node use.
type Limits struct {
	// MaxFrame bounds one message with its header.
	MaxFrame Size `yaml:"max_frame,omitempty"`

	// MaxConnections bounds the clients connected at once.
	MaxConnections int `yaml:"max_connections,omitempty" schema:"min=1"`

	// Window is how many bytes a client may publish on one tag before it waits for credit.
	Window Size `yaml:"window,omitempty"`

	// Queue bounds the bytes of one tag that are queued for one subscription.
	Queue Size `yaml:"queue,omitempty"`

	// MaxTags bounds the tags the node keeps state and counters for.
	MaxTags int `yaml:"max_tags,omitempty" schema:"min=1"`

	// MaxSubscriptions bounds the subscriptions of one client.
	MaxSubscriptions int `yaml:"max_subscriptions,omitempty" schema:"min=1"`

	// MaxCalls bounds the calls of one client that are in progress, up to 1048576. The client holds further ones back.
	MaxCalls int `yaml:"max_calls,omitempty" schema:"min=1"`

	// CallWindow bounds the bytes of one client's requests whose calls are in progress, streams of requests aside. The last
	// request may exceed it. The client holds further ones back.
	CallWindow Size `yaml:"call_window,omitempty"`

	// CallStreamWindow is how many bytes of a stream of messages in a call may be on their way. A client with a smaller window
	// of its own can neither make nor serve calls; that of ferry's clients is 256KiB.
	CallStreamWindow Size `yaml:"call_stream_window,omitempty"`

	// CallQueue bounds the bytes of calls that wait for one client: for its connection, or, as its requests, for a server that
	// is free. Calls beyond it fail with the status resource exhausted.
	CallQueue Size `yaml:"call_queue,omitempty"`

	// WasmMemory bounds what all wasm guests may have together: their compiled code, about 8 bytes for each of the module, the sum of concurrency times
	// memory and tables, and, once, what compiling the largest module needs on top (docs/wasm.md).
	WasmMemory Size `yaml:"wasm_memory,omitempty"`

	// WasmTimeout bounds the timeout of a wasm guest.
	WasmTimeout time.Duration `yaml:"wasm_timeout,omitempty"`

	// HandshakeTimeout bounds the time until a new connection is identified.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// Heartbeat is the time between pings of an idle connection. Three without a reply close it.
	Heartbeat time.Duration `yaml:"heartbeat,omitempty"`

	// WriteTimeout closes a connection whose client reads nothing for this long.
	WriteTimeout time.Duration `yaml:"write_timeout,omitempty"`
}

// Drain is how the node ends.
type Drain struct {
	// Delay is how long /ready fails before the listeners close. Meanwhile the node serves as before, so that load balancers stop
	// sending to it first. Zero means no delay.
	Delay time.Duration `yaml:"delay,omitempty"`

	// Timeout bounds how long requests, calls and messages may take to end after the listeners are closed. Connections that are left
	// then are closed. Clients of a listener that a reload removes have the same time.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

// Deploy bounds the functions that are deployed on the running node.
type Deploy struct {
	// Functions bounds their number. Zero means 16; -1 means that none may be deployed.
	Functions int `yaml:"functions,omitempty" schema:"min=-1"`

	// Bytes bounds the modules in the data directory: of all functions, up to five versions of each.
	Bytes Size `yaml:"bytes,omitempty"`

	// Publish are the tags that they may publish on; + and # are wildcards. Empty means all.
	Publish []string `yaml:"publish,omitempty"`

	// Subscribe are the tags that they may observe; + and # are wildcards. Empty means all.
	Subscribe []string `yaml:"subscribe,omitempty"`
}

// Live turns on the sensors and functions of ferry itself.
type Live struct {
	// Sensors publishes this machine's sensors under sensors/HOST/.
	Sensors bool `yaml:"sensors,omitempty"`

	// Interval is the time between two readings of a sensor.
	Interval time.Duration `yaml:"interval,omitempty"`

	// Functions runs the functions averages and alerts.
	Functions bool `yaml:"functions,omitempty"`
}

// Log is the node's own log.
type Log struct {
	// Level is the least important level that is written.
	Level Level `yaml:"level,omitempty"`

	// Format is text for people or json for machines.
	Format LogFormat `yaml:"format,omitempty"`
}

// Level is a log level.
type Level string

// The values of Level.
const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// LogFormat is the format of log lines.
type LogFormat string

// The values of LogFormat.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Size is a number of bytes. In YAML it is written 512, 64KiB, 1MiB, 2GiB, or 1kB, 1MB, 1GB for powers of ten.
type Size = bytesize.Size
