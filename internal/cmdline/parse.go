package cmdline

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/levenshtein"
)

// Parse sets the fields that the words of a command line name. It returns the verb, also with an error: then the last one that was read. Check follows.
func (v *Verb) Parse(words []string) (*Verb, error) {
	arguments, onlyArguments := v.Args, false
	for len(words) > 0 {
		word := words[0]
		var err error
		switch {
		case !onlyArguments && word == "--":
			onlyArguments, words = true, words[1:]
		case !onlyArguments && strings.HasPrefix(word, "--"):
			words, err = v.long(words)
		case !onlyArguments && isFlag(word):
			words, err = v.short(words)
		case len(arguments) > 0 && arguments[0].all:
			for ; len(words) > 0 && err == nil; words = words[1:] {
				err = arguments[0].assign(words[0])
			}
		case len(arguments) > 0:
			err = arguments[0].assign(word)
			if !arguments[0].IsList() { // else it is the last one, and takes all words that are no flags
				arguments = arguments[1:]
			}
			words = words[1:]
		default:
			below := slices.IndexFunc(v.Verbs, func(x *Verb) bool { return x.Name == word })
			if below < 0 {
				return v, fmt.Errorf("unexpected argument %s%s", word, suggest(word, v.names()))
			}
			v, words = v.Verbs[below], words[1:]
			arguments = v.Args
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// isFlag reports whether a word is a flag. A bare - is not.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// long sets the flag of the first word, --name or --name=value. It returns the words behind it.
func (v *Verb) long(words []string) ([]string, error) {
	name, value, hasValue := strings.Cut(words[0], "=")
	x, err := v.flag(name)
	switch {
	case err != nil:
		return nil, err
	case hasValue:
		return words[1:], x.assign(value)
	case x.IsBool():
		return words[1:], x.assign("true")
	}
	return x.take(words[1:])
}

// short sets the flags of the first word: -o json, -ojson, or letters without values such as -qh. It returns the words behind them.
func (v *Verb) short(words []string) ([]string, error) {
	letters := words[0][1:]
	for i, letter := range letters {
		x, err := v.flag("-" + string(letter))
		if err == nil && !x.IsBool() {
			if rest := letters[i+len(x.Short):]; rest != "" {
				return words[1:], x.assign(rest)
			}
			return x.take(words[1:])
		}
		if err == nil {
			err = x.assign("true")
		}
		if err != nil {
			return nil, err
		}
	}
	return words[1:], nil
}

// take sets a flag to the next word. It returns the words behind it.
func (x *Value) take(words []string) ([]string, error) {
	switch {
	case len(words) == 0:
		return nil, fmt.Errorf("%s: a value is missing", x.Label())
	case isFlag(words[0]):
		return nil, fmt.Errorf("%s: a value is missing before %s; perhaps try %s=%q?", x.Label(), words[0], x.Label(), words[0])
	}
	return words[1:], x.assign(words[0])
}

// flag returns the flag with a name, --output or -o, of the verb or those that it belongs to.
func (v *Verb) flag(name string) (*Value, error) {
	var all []string
	for at := v; at != nil; at = at.Parent {
		for _, f := range at.Flags {
			if name == "--"+f.Name || f.Short != "" && name == "-"+f.Short {
				return f, nil
			}
			all = append(all, "--"+f.Name)
		}
	}
	return nil, fmt.Errorf("unknown flag %s%s", name, suggest(name, all))
}

// names returns the names of the verbs that are not hidden.
func (v *Verb) names() (all []string) {
	for _, verb := range v.Visible() {
		all = append(all, verb.Name)
	}
	return all
}

// suggest returns what to write instead of an unknown word, or nothing.
func suggest(word string, known []string) string {
	var near []string
	for _, k := range known {
		if strings.HasPrefix(k, word) || levenshtein.Distance(k, word) <= 2 {
			near = append(near, strconv.Quote(k))
		}
	}
	switch len(near) {
	case 0:
		return ""
	case 1:
		return ", did you mean " + near[0] + "?"
	}
	return ", did you mean one of " + strings.Join(near, ", ") + "?"
}

// assign sets a value that is on the command line.
func (x *Value) assign(text string) error {
	if !x.set && x.IsList() {
		x.target.SetZero() // the default
	}
	x.set = true
	if err := x.parse(text); err != nil {
		return fmt.Errorf("%s: %w", x.Label(), err)
	}
	return nil
}

func (x *Value) parse(text string) error {
	if x.decode != nil {
		value, err := x.decode(text)
		if err == nil {
			x.target.Set(reflect.ValueOf(value))
		}
		return err
	}
	if !x.IsList() {
		return parse(x.target, text)
	}
	elements := []string{text}
	if x.sep != "" {
		elements = strings.Split(strings.TrimSuffix(text, x.sep), x.sep)
	}
	for _, element := range elements {
		value := reflect.New(x.target.Type().Elem()).Elem()
		if err := parse(value, element); err != nil {
			return err
		}
		x.target.Set(reflect.Append(x.target, value))
	}
	return nil
}

// parse sets to to what text stands for.
func parse(to reflect.Value, text string) error {
	var err error
	want := ""
	switch p := to.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *time.Duration:
		if *p, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("expected duration but got %q: %w", text, err)
		}
	case *string:
		*p = text
	case *bool:
		yes := slices.Contains([]string{"true", "yes", "1"}, strings.ToLower(text))
		if *p = yes; !yes && !slices.Contains([]string{"false", "no", "0"}, strings.ToLower(text)) {
			return fmt.Errorf("expected true, yes or 1, or false, no or 0 but got %q", text)
		}
	case *int:
		want = "a whole number"
		var n int64
		n, err = strconv.ParseInt(text, 0, strconv.IntSize) // 1_000 and 0x10 too
		*p = int(n)
	case *uint64:
		want = "a whole number from 0"
		*p, err = strconv.ParseUint(text, 0, 64)
	case *float64:
		want = "a number"
		*p, err = strconv.ParseFloat(text, 64)
	default:
		panic("cmdline: no parser for " + to.Type().String())
	}
	if err != nil {
		return fmt.Errorf("expected %s but got %q", want, text)
	}
	return nil
}

// Check returns what is wrong with the values of the verb, or missing. Parse has set them.
func (v *Verb) Check() error {
	values := slices.Clone(v.Args)
	for at := v; at != nil; at = at.Parent {
		values = append(values, at.Flags...)
	}
	for _, x := range values {
		if !x.set && x.wrong != nil {
			return fmt.Errorf("%s: %w", x.Label(), x.wrong)
		}
		if x.set && x.Enum != nil && !slices.Contains(x.Enum, x.target.String()) {
			return fmt.Errorf("%s must be one of %s but got %q", x.Label(), quoted(slices.DeleteFunc(slices.Clone(x.Enum), isEmpty), ","), x.target.String())
		}
	}
	if err := v.checkFlags(); err != nil {
		return err
	}
	var missing []string
	for _, x := range v.Args {
		if x.Required && !x.set {
			missing = append(missing, x.Summary())
		}
	}
	switch below := v.names(); {
	case missing != nil:
		return fmt.Errorf("expected %q", strings.Join(missing, " "))
	case below != nil:
		rest := ""
		if len(below) > 5 {
			below, rest = below[:5], ", ..."
		}
		return fmt.Errorf("expected one of %s%s", quoted(below, ", "), rest)
	}
	return nil
}

func isEmpty(s string) bool { return s == "" }

func quoted(words []string, separator string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = strconv.Quote(w)
	}
	return strings.Join(all, separator)
}

// checkFlags returns which flags are missing, or exclude each other.
func (v *Verb) checkFlags() error {
	var missing []string
	given := map[string]string{}    // by xor, the flag that is set
	wanted := map[string][]string{} // by xor, those that may be
	for _, f := range v.Flags {
		switch {
		case f.xor == "" && f.Required && !f.set:
			missing = append(missing, f.Summary())
		case f.xor == "":
		case f.set && given[f.xor] != "":
			return fmt.Errorf("%s and %s can't be used together", given[f.xor], f.Label())
		case f.set:
			given[f.xor] = f.Label()
		}
		if f.xor != "" && f.Required {
			wanted[f.xor] = append(wanted[f.xor], f.Summary())
		}
	}
	for xor, flags := range wanted {
		if given[xor] == "" {
			missing = append(missing, strings.Join(flags, " or "))
		}
	}
	if missing == nil {
		return nil
	}
	slices.Sort(missing)
	return errors.New("missing flags: " + strings.Join(missing, ", "))
}
