package account

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// part is a module in the binary.
type part struct{ Name, Version, License string }

// aboutView describes the running server and its components.
type aboutView struct {
	Version string
	Go      string
	Engine  string
	Parts   []part
	License string
}

func showAbout(req *ui.Request) error {
	s := aboutView{
		Version: req.Version,
		Go:      runtime.Version(),
		Engine:  req.Store.Engine(),
		Parts:   parts(),
		License: about.License,
	}
	return req.Show(http.StatusOK, ui.Page{Template: "about", Title: "About", Section: "about", Data: s})
}

// parts parses the table of THIRD_PARTY.md: name, license, and "binary" for modules that are not
// only used in tests. Versions are those of the running binary.
func parts() (list []part) {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
		}
	}
	for line := range strings.Lines(about.ThirdParty) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.TrimSpace(cells[2]) != "binary" {
			continue
		}
		name := strings.TrimSpace(cells[0])
		list = append(list, part{name, versions[name], strings.TrimSpace(cells[1])})
	}
	return list
}
