package cli

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/cmdline"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the part of ferry completion --help that is not in the grammar.
func (*completionCmd) Help() string {
	return `Write the script to the place where your shell looks for it:

    ferry completion bash >~/.local/share/bash-completion/completions/ferry
    ferry completion zsh >"${fpath[1]}/_ferry"
    ferry completion fish >~/.config/fish/completions/ferry.fish`
}

// Run prints the script, made from the grammar that parses the command line.
func (c *completionCmd) Run(e *env) error {
	s := &script{}
	switch c.Shell {
	case "bash":
		s.bash(e.program)
	case "zsh":
		s.zsh(e.program)
	case "fish":
		s.fish(e.program)
	}
	return e.print([]byte(s.String()))
}

// script is a completion script.
type script struct{ strings.Builder }

func (s *script) add(format string, args ...any) { fmt.Fprintf(s, format, args...) }

func (s *script) bash(program *cmdline.Verb) {
	s.add(`# Completion of ferry for bash.
_ferry() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= sub= word flags= words=
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		%s) verb=$word; break ;;
		esac
	done
	case $verb in
	'') flags='--help --version' words='%s' ;;
`, verbNames(program, "|"), verbNames(program, " "))
	for _, verb := range program.Visible() {
		s.add("\t%s)\n", verb.Name)
		if verb.Verbs == nil {
			s.bashFlags(verb)
			continue
		}
		s.add(`		for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
			case $word in
			%s) sub=$word; break ;;
			esac
		done
		case $sub in
		'') flags='--help' words='%s' ;;
`, verbNames(verb, "|"), verbNames(verb, " "))
		for _, sub := range verb.Visible() {
			s.add("\t\t%s)\n", sub.Name)
			s.bashFlags(sub)
		}
		s.add("\t\tesac ;;\n")
	}
	s.add(`	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$flags" -- "$cur"))
	elif [[ $words ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _ferry ferry
`)
}

func (s *script) bashFlags(verb *cmdline.Verb) {
	var names []string
	for _, f := range flags(verb) {
		names = append(names, "--"+f.Name)
	}
	s.add("\t\tflags='%s'\n", strings.Join(names, " "))
	for _, arg := range verb.Args {
		if words := choices(arg); words != "" {
			s.add("\t\twords='%s'\n", words)
		}
	}
	s.add("\t\tcase $prev in\n")
	for _, f := range flags(verb) {
		if f.IsBool() {
			continue
		}
		short := ""
		if f.Short != "" {
			short = "|-" + f.Short
		}
		s.add("\t\t--%s%s) flags= words='%s' ;;\n", f.Name, short, choices(f))
	}
	s.add("\t\tesac ;;\n")
}

func (s *script) zsh(program *cmdline.Verb) {
	s.add(`#compdef ferry
# Completion of ferry for zsh.
_ferry() {
	local -a verbs=(
%s	)
	if (( CURRENT == 2 )); then
		_describe verb verbs
		return
	fi
	shift words
	(( CURRENT-- ))
	case $words[1] in
`, described(program))
	for _, verb := range program.Visible() {
		s.add("\t%s)\n", verb.Name)
		if verb.Verbs == nil {
			s.zshArguments(verb)
			continue
		}
		s.add(`		verbs=(
%s		)
		if (( CURRENT == 2 )); then
			_describe verb verbs
			return
		fi
		shift words
		(( CURRENT-- ))
		case $words[1] in
`, described(verb))
		for _, sub := range verb.Visible() {
			s.add("\t\t%s)\n", sub.Name)
			s.zshArguments(sub)
		}
		s.add("\t\tesac\n\t\t;;\n")
	}
	s.add(`	esac
}
if [[ $funcstack[1] == _ferry ]]; then
	_ferry "$@"
else
	compdef _ferry ferry
fi
`)
}

func (s *script) zshArguments(verb *cmdline.Verb) {
	s.add("\t\t_arguments -s")
	action := func(x *cmdline.Value) string {
		if words := choices(x); words != "" {
			return "(" + words + ")"
		}
		return "_files"
	}
	for _, f := range flags(verb) {
		value, text := "", "["+brief(f.Help)+"]"
		if !f.IsBool() {
			value, text = "=", text+":"+brief(f.ValueName())+":"+action(f)
		}
		if f.Short != "" {
			s.add(" \\\n\t\t\t'(-%[1]s --%[2]s)'{-%[1]s,--%[2]s%s}'%s'", f.Short, f.Name, value, text)
		} else {
			s.add(" \\\n\t\t\t'--%s%s''%s'", f.Name, value, text)
		}
	}
	for _, arg := range verb.Args {
		each := ""
		if arg.IsList() {
			each = "*" // takes all words that are left
		}
		s.add(" \\\n\t\t\t'%s:%s:%s'", each, brief(arg.Name), action(arg))
	}
	s.add("\n\t\t;;\n")
}

func (s *script) fish(program *cmdline.Verb) {
	s.add("# Completion of ferry for fish.\n")
	for _, verb := range program.Visible() {
		s.add("complete -c ferry -f -n __fish_use_subcommand -a %s -d %s\n", verb.Name, shellWord(verb.Help))
		if verb.Verbs == nil {
			s.fishFlags(verb)
		}
		for _, sub := range verb.Visible() {
			s.add("complete -c ferry -f -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -a %s -d %s\n",
				verb.Name, verbNames(verb, " "), sub.Name, shellWord(sub.Help))
			s.fishFlags(sub)
		}
	}
}

func (s *script) fishFlags(verb *cmdline.Verb) {
	seen := fishSeen(verb)
	for _, f := range flags(verb) {
		s.add("complete -c ferry -n '%s'", seen)
		if f.Short != "" {
			s.add(" -s %s", f.Short)
		}
		s.add(" -l %s", f.Name)
		if !f.IsBool() {
			s.add(" -r")
			if words := choices(f); words != "" {
				s.add(" -f -a '%s'", words)
			}
		}
		s.add(" -d %s\n", shellWord(f.Help))
	}
	for _, arg := range verb.Args {
		if words := choices(arg); words != "" {
			s.add("complete -c ferry -f -n '%s' -a '%s'\n", seen, words)
		}
	}
}

// verbNames returns the names of the visible verbs of a verb.
func verbNames(of *cmdline.Verb, separator string) string {
	var all []string
	for _, v := range of.Visible() {
		all = append(all, v.Name)
	}
	return strings.Join(all, separator)
}

// described returns the visible verbs of a verb as zsh's _describe takes them, a line each.
func described(of *cmdline.Verb) string {
	indent := "\t\t"
	if of.Parent != nil {
		indent = "\t\t\t"
	}
	var lines strings.Builder
	for _, v := range of.Visible() {
		lines.WriteString(indent + shellWord(v.Name+":"+v.Help) + "\n")
	}
	return lines.String()
}

// fishSeen returns fish's condition that a verb, and the verb that it belongs to, were typed.
func fishSeen(verb *cmdline.Verb) string {
	seen := "__fish_seen_subcommand_from " + verb.Name
	if verb.Parent != nil && verb.Parent.Parent != nil {
		return fishSeen(verb.Parent) + "; and " + seen
	}
	return seen
}

// flags returns the visible flags of a verb, those of the whole program included.
func flags(verb *cmdline.Verb) (all []*cmdline.Value) {
	for _, level := range verb.AllFlags() {
		all = append(all, level...)
	}
	return all
}

// choices returns what a flag or argument may be, separated by spaces; empty if it may be anything.
func choices(x *cmdline.Value) string { return strings.TrimSpace(strings.Join(x.Enum, " ")) }

// brief returns a text without the characters that have a meaning to zsh's _arguments.
var brief = strings.NewReplacer("[", "(", "]", ")", ":", ",", "'", "’").Replace
