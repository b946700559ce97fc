// Command docs makes a site of static HTML from the repository: README.md, the pages in docs, and those that they link to. It needs
// no server: the search reads its index as a script.
//
//	go run ./cmd/docs -o ../bin/docs
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

//go:embed page.html site.css search.js
var files embed.FS

func main() {
	out := flag.String("o", "../bin/docs", "the directory that gets the site")
	source := flag.String("source", "", "where the files of the repository are on the web: links to what is no page lead there, and without it are text")
	flag.Parse()
	s := site{root: os.DirFS(".."), out: *out, source: *source, names: []string{"README.md"}}
	if s.make(); s.err != nil {
		log.Fatal("docs: ", s.err)
	}
	fmt.Printf("%d pages: %s\n", len(s.names), filepath.Join(*out, "index.html"))
}

type site struct {
	root        fs.FS // the repository
	out, source string
	names       []string // of the pages, which grow by what they link to
	navigation  []group
	index       []section
	err         error // the first one
}

// group is a row of the navigation: a title, and links from the top of the site.
type group struct{ Title, Links template.HTML }

// section is what the search finds.
type section struct{ URL, Page, Title, Text string }

// page is what page.html shows.
type page struct {
	Title, Top string // Top leads to the top of the site
	Body       template.HTML
	Navigation []group
}

func (s *site) make() {
	pages, err := fs.Glob(s.root, "docs/*.md")
	s.failed(err)
	s.names = append(s.names, pages...)
	layout := template.Must(template.ParseFS(files, "page.html"))
	for i := 0; i < len(s.names); i++ {
		name := s.names[i]
		p := page{Top: strings.Repeat("../", strings.Count(name, "/"))}
		body := s.render(name)
		p.Body, p.Title = template.HTML(body), s.sections(name, body)
		if name == "README.md" {
			s.navigate(body)
		}
		for _, g := range s.navigation {
			g.Links = template.HTML(strings.NewReplacer(`href="`+address(name)+`"`, `aria-current="page" href="#"`, `href="`, `href="`+p.Top).Replace(string(g.Links)))
			p.Navigation = append(p.Navigation, g)
		}
		var b bytes.Buffer
		s.failed(layout.Execute(&b, p))
		s.write(address(name), b.Bytes())
	}
	index, err := json.Marshal(s.index)
	s.failed(err)
	s.write("index.js", append([]byte("const index = "), index...))
	for _, name := range []string{"site.css", "search.js"} {
		s.write(name, s.read(files, name))
	}
}

var (
	link    = regexp.MustCompile(`(?s)<a href="([^"#]*)([^"]*)">(.*?)</a>`)
	image   = regexp.MustCompile(`<img src="([^":]*)"`)
	heading = regexp.MustCompile(`(?s)<h[1-6] id="([^"]*)">(.*?)</h[1-6]>`)
	row     = regexp.MustCompile(`(?s)<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>\s*</tr>`)
	inline  = regexp.MustCompile(`</?(a|code|em|strong)\b[^>]*>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
)

// render returns the HTML of a page, copies its images, and adds the pages that it links to.
func (s *site) render(name string) string {
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	s.failed(md.Convert(s.read(s.root, name), &b, parser.WithContext(parser.NewContext(parser.WithIDs(anchors{})))))
	for _, found := range image.FindAllStringSubmatch(b.String(), -1) {
		file := path.Join(path.Dir(name), found[1])
		s.write(file, s.read(s.root, file))
	}
	return link.ReplaceAllStringFunc(b.String(), func(a string) string {
		m := link.FindStringSubmatch(a)
		target, anchor, label := m[1], m[2], m[3]
		file := path.Join(path.Dir(name), target)
		switch {
		case target == "" || strings.Contains(target, ":"): // in this page, or on another site
			return a
		case path.Ext(target) == ".txt": // a list of bytes, which a browser shows
			s.write(file, s.read(s.root, file))
			return a
		case path.Ext(target) != ".md" && s.source == "":
			return label
		case path.Ext(target) != ".md":
			return fmt.Sprintf(`<a href="%s">%s</a>`, s.source+file, label)
		case !slices.Contains(s.names, file):
			s.names = append(s.names, file)
		}
		return fmt.Sprintf(`<a href="%s%s">%s</a>`, strings.TrimSuffix(target, path.Base(target))+path.Base(address(file)), anchor, label)
	})
}

// navigate takes the navigation from the table below Documentation in README.md.
func (s *site) navigate(body string) {
	_, table, _ := strings.Cut(body, ` id="documentation"`)
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		links := strings.Join(link.FindAllString(m[2], -1), "\n")
		s.navigation = append(s.navigation, group{template.HTML(m[1]), template.HTML(links)})
	}
	if s.navigation == nil {
		s.failed(errors.New("README.md has no table below the heading Documentation"))
	}
}

// sections adds the sections of a page to the index, and returns the title of the page.
func (s *site) sections(name, body string) (title string) {
	plain := func(text string) string {
		return html.UnescapeString(strings.Join(strings.Fields(tag.ReplaceAllString(inline.ReplaceAllString(text, ""), " ")), " "))
	}
	places := heading.FindAllStringSubmatchIndex(body, -1)
	for i, at := range places {
		end := len(body)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		here := plain(body[at[4]:at[5]])
		title = cmp.Or(title, here)
		s.index = append(s.index, section{address(name) + "#" + body[at[2]:at[3]], title, here, plain(body[at[1]:end])})
	}
	return title
}

func (s *site) failed(err error) { s.err = cmp.Or(s.err, err) }

func (s *site) read(from fs.FS, name string) []byte {
	data, err := fs.ReadFile(from, name)
	s.failed(err)
	return data
}

func (s *site) write(name string, data []byte) {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	s.failed(os.MkdirAll(filepath.Dir(file), 0o755))
	s.failed(os.WriteFile(file, data, 0o644))
}

// address returns where the page of a file is in the site.
func address(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// anchors makes the anchors of headings as GitHub does.
type anchors map[string]int

var dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func (a anchors) Generate(title []byte, _ ast.NodeKind) []byte {
	anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(title))), ""), " ", "-")
	a[anchor]++
	if n := a[anchor]; n > 1 {
		anchor = fmt.Sprintf("%s-%d", anchor, n-1)
	}
	return []byte(anchor)
}

func (a anchors) Put(anchor []byte) { a[string(anchor)]++ }
