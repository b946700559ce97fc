package cmdline

import (
	"reflect"
	"strings"
	"unicode"
)

// Verb is the program, a verb of it, or a verb of another verb.
type Verb struct {
	Name   string
	Help   string // a sentence
	Detail string // what the method Help of the struct returns
	Group  string // the heading of the list that it is in; "" means that of its parent
	Hidden bool
	Parent *Verb // nil for the program
	Verbs  []*Verb
	Flags  []*Value
	Args   []*Value
	Target any // points to the struct
}

// Value is a flag or an argument.
type Value struct {
	Name        string
	Short       string // a letter; "" means none
	Help        string
	Enum        []string // what it may be; nil means anything
	Placeholder string   // of a flag
	Hidden      bool
	Required    bool

	arg      bool
	optional bool   // an argument that the usage nests in brackets with those that follow
	all      bool   // an argument that takes all that follows, flags too
	sep      string // between the elements of a list; "" means that each flag is one element
	xor      string // flags of one verb with this name exclude each other, and if they are required, one is
	target   reflect.Value
	decode   Decoder // nil: by the type of target
	set      bool    // on the command line
	wrong    error   // why there is no default, such as an address that the program does not know
}

// Decoder returns the value of a field that text stands for.
type Decoder func(text string) (any, error)

// Config is what the tags of the struct refer to.
type Config struct {
	Vars   map[string]string        // ${name} in tags; $$ is a dollar sign
	Groups map[string]string        // headings by the tag group of verbs
	Types  map[reflect.Type]Decoder // fields that are neither encoding.TextUnmarshaler nor of a basic type
}

type builder struct {
	Config
	vars *strings.Replacer
}

// New returns the program. The struct that grammar points to has the verbs (tag cmd), arguments (arg) and flags (the other fields); those of embedded structs
// are its own. Further tags: help, name, short, default, enum, placeholder, group, and without a value hidden, required, optional, passthrough; xor and sep
// (none, or a comma if it is missing). Parse fills it.
func New(name, help string, grammar any, c Config) *Verb {
	pairs := []string{"$$", "$"}
	for name, value := range c.Vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	v := &Verb{Name: name, Help: help, Target: grammar}
	(&builder{c, strings.NewReplacer(pairs...)}).read(v, reflect.ValueOf(grammar).Elem())
	return v
}

// read adds the fields of a struct to v.
func (b *builder) read(v *Verb, from reflect.Value) {
	for i := range from.NumField() {
		field, target := from.Type().Field(i), from.Field(i)
		tag := func(key string) string { return b.vars.Replace(field.Tag.Get(key)) }
		has := func(key string) bool { _, ok := field.Tag.Lookup(key); return ok }
		name := tag("name")
		if name == "" {
			name = dashed(field.Name)
		}
		switch {
		case field.Anonymous:
			b.read(v, target)
		case !field.IsExported():
		case has("cmd"):
			verb := &Verb{Name: name, Help: tag("help"), Group: b.Groups[tag("group")], Hidden: has("hidden"), Parent: v, Target: target.Addr().Interface()}
			if h, ok := verb.Target.(interface{ Help() string }); ok {
				verb.Detail = h.Help()
			}
			v.Verbs = append(v.Verbs, verb)
			b.read(verb, target)
		default:
			x := &Value{
				Name: name, Short: tag("short"), Help: tag("help"), Placeholder: tag("placeholder"), Hidden: has("hidden"), Required: has("required"),
				arg: has("arg"), optional: has("optional"), all: has("passthrough"), sep: ",", xor: tag("xor"), target: target, decode: b.Types[target.Type()],
			}
			if has("enum") {
				x.Enum = strings.Split(tag("enum"), ",")
			}
			if x.all || tag("sep") == "none" {
				x.sep = ""
			}
			if preset := tag("default"); preset != "" {
				x.wrong = x.parse(preset)
			}
			if x.arg {
				x.Required = !x.optional && !has("default")
				v.Args = append(v.Args, x)
			} else {
				v.Flags = append(v.Flags, x)
			}
		}
	}
}

// dashed returns the name of a field as words: data-dir for DataDir.
func dashed(field string) string {
	var b strings.Builder
	lower := false // the letter before
	for _, r := range field {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('-')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Path returns the names of the verb and those that it belongs to: stream ls. It is empty for the program.
func (v *Verb) Path() string {
	if v.Parent == nil {
		return ""
	}
	return strings.TrimPrefix(v.Parent.Path()+" "+v.Name, " ")
}

// FullPath returns Path behind the name of the program.
func (v *Verb) FullPath() string {
	if v.Parent == nil {
		return v.Name
	}
	return v.Parent.FullPath() + " " + v.Name
}

// AllFlags returns the flags that are not hidden: those of the program first, then those of each verb down to this one.
func (v *Verb) AllFlags() (levels [][]*Value) {
	if v.Parent != nil {
		levels = v.Parent.AllFlags()
	}
	var own []*Value
	for _, f := range v.Flags {
		if !f.Hidden {
			own = append(own, f)
		}
	}
	if own != nil {
		levels = append(levels, own)
	}
	return levels
}

// Visible returns the verbs that are not hidden.
func (v *Verb) Visible() (all []*Verb) {
	for _, verb := range v.Verbs {
		if !verb.Hidden {
			all = append(all, verb)
		}
	}
	return all
}

// IsBool reports whether a flag needs no value.
func (x *Value) IsBool() bool { return x.target.Kind() == reflect.Bool }

// IsList reports whether each occurrence adds to the value.
func (x *Value) IsList() bool {
	return x.target.Kind() == reflect.Slice && x.target.Type().Name() == ""
}

// ValueName returns what stands for the value of a flag in texts.
func (x *Value) ValueName() string {
	name := x.Placeholder
	if name == "" {
		name = strings.ToUpper(x.Name)
	}
	if x.IsList() && x.sep != "" {
		name += x.sep + "..."
	}
	return name
}

// Label returns how a flag or argument is called in errors: --output, <path>, [<file>].
func (x *Value) Label() string {
	if !x.arg {
		return "--" + x.Name
	}
	label := "<" + x.Name + ">"
	if x.IsList() {
		label += " ..."
	}
	if !x.Required {
		label = "[" + label + "]"
	}
	return label
}

// Summary is Label, with the value of a flag.
func (x *Value) Summary() string {
	if x.arg || x.IsBool() {
		return x.Label()
	}
	return x.Label() + "=" + x.ValueName()
}

// Summary returns how the verb is used, without the name of the program: set <path=value> [<file>] [flags].
func (v *Verb) Summary() string {
	words := []string{v.Path()}
	for _, level := range v.AllFlags() {
		for _, f := range level {
			if f.Required {
				words = append(words, f.Summary())
			}
		}
	}
	nested := 0
	for _, x := range v.Args {
		word := x.Summary()
		if x.optional {
			nested++
			word = strings.TrimRight(word, "]")
		}
		words = append(words, word)
	}
	words[len(words)-1] += strings.Repeat("]", nested)
	if v.Args == nil && v.Verbs != nil {
		words = append(words, "<command>")
	}
	flags := v.Flags
	if v.Parent != nil {
		flags = append(flags[:len(flags):len(flags)], v.Parent.Flags...)
	}
	for _, f := range flags {
		if !f.Required && f.Name != "help" {
			words = append(words, "[flags]")
			break
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
