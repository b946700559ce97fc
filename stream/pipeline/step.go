package pipeline

import "time"

// Step is one step of a pipeline. Exactly one of its fields is set, and beside it the fields whose comment names it.
type Step struct {
	// Where is a predicate over the message, or over the record that an earlier step has made. Messages for which it does not hold
	// end here.
	Where string `yaml:"where,omitempty"`

	// Select makes a record of fields: the name of each, and where its value is, or, behind =, an expression that computes it. The
	// fields are in the order of their names.
	Select map[string]string `yaml:"select,omitempty"`

	// FlatMap passes on each element of a list, such as readings, as a message of its own. Messages are in JSON, CBOR or MessagePack.
	FlatMap string `yaml:"flat_map,omitempty"`

	// GroupBy are the fields whose values make a group: the later steps keep their state for each group. @tag is the tag of the
	// message, [] makes one group of all messages. Without this step the messages of each tag are a group.
	GroupBy *Paths `yaml:"group_by,omitempty"`

	// Window collects messages of a group. An aggregate follows it.
	Window *Window `yaml:"window,omitempty"`

	// Aggregates are several results of one window. Each has its own name.
	Aggregates []Aggregation `yaml:"aggregate,omitempty"`

	// Scan makes a record for each message, with aggregates over all messages of the group so far.
	Scan []Aggregation `yaml:"scan,omitempty"`

	// Distinct passes a message on if its values of these fields were not in the group yet. A group remembers 4096 of them.
	Distinct Paths `yaml:"distinct,omitempty"`

	// Changed passes a message on if its values of these fields are not those of the message before it.
	Changed Paths `yaml:"changed,omitempty"`

	// Debounce passes a message on when no other message of the group has followed for this long.
	Debounce time.Duration `yaml:"debounce,omitempty"`

	// Throttle passes a message on and drops those of the group that follow within this time.
	Throttle time.Duration `yaml:"throttle,omitempty"`

	// Sample passes on the newest message of the group after each period of this length that had one.
	Sample time.Duration `yaml:"sample,omitempty"`

	// Publish is the tag of the results. Each + and # in it stands for what the wildcards of observe match, in their order, and the
	// level {PATH} for the value of a field. It is the last step.
	Publish string `yaml:"publish,omitempty"`

	// Type is the format in which publish sends records: json, cbor, msgpack or bson. Empty means json. A message that no step has
	// made a record of keeps its bytes.
	Type string `yaml:"type,omitempty"`

	// One aggregate is a step of its own.
	Aggregation `yaml:",inline"`
}

// Aggregation is one result over the messages of a window or group. Exactly one of its fields is set, and beside it As.
type Aggregation struct {
	// Count is the number of messages.
	Count bool `yaml:"count,omitempty"`

	// Sum is the sum of a field. The numbers of sum, mean, min and max are 64-bit floating point.
	Sum string `yaml:"sum,omitempty"`

	// Mean is the mean of a field.
	Mean string `yaml:"mean,omitempty"`

	// Min is the least value of a field.
	Min string `yaml:"min,omitempty"`

	// Max is the greatest value of a field.
	Max string `yaml:"max,omitempty"`

	// First is the value of a field in the first message.
	First string `yaml:"first,omitempty"`

	// Last is the value of a field in the last message.
	Last string `yaml:"last,omitempty"`

	// DistinctCount is the number of different values of a field, at most 4096.
	DistinctCount string `yaml:"distinct_count,omitempty"`

	// As is the name of the aggregate's field in the record. Empty means the aggregate's own name, such as mean.
	As string `yaml:"as,omitempty"`
}

// Window is which messages of a group are collected before an aggregate. Give time, count, both, or session.
type Window struct {
	// Time is the length of a window. With count, it begins with the first message; otherwise windows begin at multiples of it since
	// 1970-01-01 UTC.
	Time time.Duration `yaml:"time,omitempty"`

	// Count is the number of messages after which a window ends. With time, it ends at whichever comes first.
	Count int `yaml:"count,omitempty" schema:"min=1"`

	// Every makes windows of time overlap: one begins at each multiple of it.
	Every time.Duration `yaml:"every,omitempty"`

	// Session ends a window when the group has had no message for this long.
	Session time.Duration `yaml:"session,omitempty"`

	// EventTime is the field with the time of a message: a number, or text as in RFC 3339. Empty means when the message arrives.
	EventTime string `yaml:"event_time,omitempty"`

	// Unit is the unit of an event_time that is a number, since 1970-01-01 UTC. Empty means ns.
	Unit Unit `yaml:"unit,omitempty"`

	// Lateness is how long, in event time, a window waits for messages that are older than the newest one of the group.
	Lateness time.Duration `yaml:"lateness,omitempty"`

	// Ahead is how much later than the node's clock the time of a message may be. A later one is skipped: it would end the windows of
	// all messages before it. It needs event_time. Zero means 24h.
	Ahead time.Duration `yaml:"ahead,omitempty" json:",omitempty"` // omitted, so that the state of steps without it is still theirs

	// Idle closes the windows of a group that has had no message for this long, by the node's clock. It needs event_time. Zero means
	// the length of a window and lateness.
	Idle time.Duration `yaml:"idle,omitempty"`
}

// Unit is a unit of time.
type Unit string

// The values of Unit.
const (
	Nanoseconds  Unit = "ns"
	Microseconds Unit = "us"
	Milliseconds Unit = "ms"
	Seconds      Unit = "s"
)

// Paths are fields: in YAML one text, or a list.
type Paths []string

// UnmarshalYAML reads one text or a list.
func (p *Paths) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*p = Paths{one}
		return nil
	}
	*p = Paths{}
	return unmarshal((*[]string)(p))
}
