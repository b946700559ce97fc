package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/cmdline"
)

// manDir has the pages that the packages install.
const manDir = "../../../packaging/man"

// TestManPages compares the manual pages with the grammar: ferry.1, and a page for each verb. make gen writes them.
func TestManPages(t *testing.T) {
	t.Parallel()
	var cli grammar
	app := newProgram(&cli, builtin())
	pages := map[string]string{"ferry.1": manOverview(app)}
	for _, verb := range app.Visible() {
		pages["ferry-"+verb.Name+".1"] = manVerb(verb)
	}
	for name, page := range pages {
		path := filepath.Join(manDir, name)
		if *update {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != page {
			t.Errorf("%s is not that of the command line (%v): run make gen", path, err)
		}
	}
	files, err := os.ReadDir(manDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if pages[file.Name()] == "" {
			t.Errorf("%s is the page of no verb", filepath.Join(manDir, file.Name()))
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // without groff, only the files are compared
	}
	for name := range pages {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z", filepath.Join(manDir, name)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff %s: %v\n%s", name, err, out)
		}
	}
}

// manOverview is the page of the program: its verbs, by group, and what they have in common.
func manOverview(app *cmdline.Verb) string {
	var b strings.Builder
	manHead(&b, "ferry", "forwards, filters and streams messages", "ferry <command> [flags]")
	b.WriteString(".SH DESCRIPTION\n" + manText(app.Help))
	group := ""
	for _, verb := range app.Visible() {
		if verb.Group != group {
			group = verb.Group
			fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(strings.TrimSuffix(group, ":")))
		}
		fmt.Fprintf(&b, ".TP\n.BR ferry\\-%s (1)\n%s", manEscape(verb.Name), manText(verb.Help))
	}
	b.WriteString(".SH FLAGS OF ALL COMMANDS\n")
	manFlags(&b, app.Flags)
	examples, _, _ := strings.Cut(strings.TrimPrefix(detail, "\nTry it:\n"), "\n\n")
	b.WriteString(".SH EXAMPLES\n" + manText(strings.ReplaceAll("\n"+examples, "\n  ", "\n    ")))
	_, status, _ := strings.Cut(detail, "Exit status: ")
	b.WriteString(".SH EXIT STATUS\n" + manText(status))
	return b.String()
}

// manVerb is the page of a verb, and of the verbs that it has.
func manVerb(verb *cmdline.Verb) string {
	var b strings.Builder
	manHead(&b, "ferry-"+verb.Name, manBrief(verb.Help), "ferry "+verb.Summary())
	b.WriteString(".SH DESCRIPTION\n" + manText(verb.Help+"\n\n"+verb.Detail))
	manUsage(&b, verb, ".SH ")
	for _, sub := range verb.Visible() {
		fmt.Fprintf(&b, ".SH FERRY %s %s\n", strings.ToUpper(manEscape(verb.Name)), strings.ToUpper(manEscape(sub.Name)))
		b.WriteString(manText("    ferry " + sub.Summary() + "\n\n" + sub.Help + "\n\n" + sub.Detail))
		manUsage(&b, sub, ".SS ")
	}
	b.WriteString(".SH SEE ALSO\n.BR ferry (1)\nhas the flags of all commands, and the exit statuses.\n")
	return b.String()
}

// manUsage writes the arguments and the flags of a verb, but for those of all verbs.
func manUsage(b *strings.Builder, verb *cmdline.Verb, heading string) {
	if len(verb.Args) > 0 {
		b.WriteString(heading + "ARGUMENTS\n")
	}
	for _, arg := range verb.Args {
		fmt.Fprintf(b, ".TP\n.I %s\n%s", manEscape(arg.Summary()), manText(arg.Help))
	}
	if len(verb.Flags) > 0 {
		b.WriteString(heading + "FLAGS\n")
		manFlags(b, verb.Flags)
	}
}

func manFlags(b *strings.Builder, flags []*cmdline.Value) {
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		name := "--" + flag.Name
		if flag.Short != "" {
			name = "-" + flag.Short + ", " + name
		}
		value := ""
		if !flag.IsBool() {
			value = "=" + flag.ValueName()
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s", manEscape(name), manEscape(value), manText(flag.Help))
	}
}

func manHead(b *strings.Builder, name, brief, usage string) {
	fmt.Fprintf(b, ".\\\" Made from the command line by make gen.\n.TH %s 1 \"\" ferry ferry\n", strings.ToUpper(manEscape(name)))
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", manEscape(name), manEscape(brief), manEscape(usage))
}

// manBrief is the help of a verb as a phrase.
func manBrief(help string) string {
	help, _, _ = strings.Cut(help, ". ")
	return strings.ToLower(help[:1]) + strings.TrimSuffix(help[1:], ".")
}

// manText writes paragraphs, and lines that are indented as they are.
func manText(text string) string {
	var b strings.Builder
	literal, gap := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			gap = b.Len() > 0
			continue
		}
		rest, indented := strings.CutPrefix(line, "    ")
		if literal && !indented {
			b.WriteString(".fi\n.RE\n")
		}
		if gap {
			b.WriteString(".sp\n")
		}
		if indented && !literal {
			b.WriteString(".RS 4\n.nf\n")
		}
		literal, gap = indented, false
		b.WriteString(manEscape(rest) + "\n")
	}
	if literal {
		b.WriteString(".fi\n.RE\n")
	}
	return b.String()
}

// manEscape keeps characters that roff would interpret.
func manEscape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
