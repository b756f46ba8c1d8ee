package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed templates/*.html
var ownTemplates embed.FS

// parse parses the templates of this package and of the areas. Templates whose names begin with an
// underscore are shared by all pages. Each other file is a page that defines "content".
func (p *Pages) parse(areas ...fs.FS) (map[string]*template.Template, error) {
	areas = append([]fs.FS{ownTemplates}, areas...)
	shared := template.New("").Funcs(p.funcs())
	if _, err := eachTemplate(areas, "templates/_*.html", shared.ParseFS); err != nil {
		return nil, err
	}
	return eachTemplate(areas, "templates/[a-z]*.html", func(files fs.FS, names ...string) (*template.Template, error) {
		page, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		return page.ParseFS(files, names...)
	})
}

// eachTemplate parses all files that match a pattern. The keys are their names without .html.
func eachTemplate(
	areas []fs.FS, pattern string, parse func(fs.FS, ...string) (*template.Template, error),
) (map[string]*template.Template, error) {
	all := map[string]*template.Template{}
	for _, files := range areas {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			key := strings.TrimSuffix(path.Base(name), ".html")
			if all[key] != nil {
				return nil, fmt.Errorf("template %s is defined in several packages", key)
			}
			if all[key], err = parse(files, name); err != nil {
				return nil, fmt.Errorf("read template %s: %w", key, err)
			}
		}
	}
	return all, nil
}

// Page describes a page to render.
type Page struct {
	Template string // file in templates, without .html
	Title    string // of the window; also the heading unless the template sets another
	Section  string // key of the navigation item that the page belongs to
	Data     any    // passed to the template as .Data

	// Part names the template that a script requested; empty means the whole content.
	Part string
}

// layoutData is the data of the layout template.
type layoutData struct {
	Page
	Viewer  Viewer
	Org     string // prefix of every link, such as /orgs/acme
	Nav     []NavGroup
	Version string
	Path    string // of the request, with its query
}

// CurrentLabel returns the label of the current navigation item, or an empty string.
func (d layoutData) CurrentLabel() string {
	for _, g := range d.Nav {
		for _, item := range g.Items {
			if item.Current {
				return item.Label
			}
		}
	}
	return ""
}

// Show writes a page: the whole page, or only its content for a script's request.
func (req *Request) Show(status int, s Page) error {
	t := req.templates[s.Template]
	if t == nil {
		return fmt.Errorf("template %q does not exist", s.Template)
	}
	name := "layout"
	if req.Viewer.Deployment.ID == 0 {
		name = "bare"
	}
	if req.Partial() {
		name = "content"
		if s.Part != "" {
			name = s.Part
		}
	}
	f := layoutData{Page: s, Viewer: req.Viewer, Version: req.Version, Path: req.HTTP.URL.RequestURI()}
	if name == "layout" || req.Viewer.Deployment.ID != 0 {
		waiting, err := countWaiting(req)
		if err != nil && req.HTTP.Context().Err() == nil { // the page is rendered without counts
			req.Logger.Warn("counting of pending items failed", "error", err)
		}
		f.Org = req.To("")
		f.Nav = Navigation(f.Org, s.Section, req.Viewer, waiting)
	}
	var buf bytes.Buffer
	if err := t.ExecuteTemplate(&buf, name, f); err != nil {
		return fmt.Errorf("render %s: %w", s.Template, err)
	}
	send := func() {
		h := req.Writer.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Add("Vary", "HX-Request")
		req.Writer.WriteHeader(status)
		if req.HTTP.Method != http.MethodHead {
			_, _ = req.Writer.Write(buf.Bytes()) // an error means that the client disconnected
		}
	}
	if req.tx != nil {
		req.send = send
		return nil
	}
	send()
	return nil
}
