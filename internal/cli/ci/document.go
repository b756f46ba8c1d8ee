package ci

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/redoubt/redoubt/internal/about"
)

// document is a file that a run writes.
type document struct {
	name string
	flag int // for os.OpenFile
	text func() ([]byte, error)
}

func (d document) write() error {
	text, err := d.text()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.name, os.O_CREATE|os.O_WRONLY|d.flag, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Names of GitLab artifacts.
const (
	codeQualityFile = "gl-code-quality-report.json"
	dotenvFile      = "redoubt.env"
)

// documents returns the requested files and those of the build system.
func (b *build) documents() []document {
	list := []document{}
	add := func(name string, flag int, text func() ([]byte, error)) {
		if name != "" {
			list = append(list, document{name, flag, text})
		}
	}
	plain := func(text func() string) func() ([]byte, error) {
		return func() ([]byte, error) { return []byte(text()), nil }
	}
	switch b.result.System {
	case "github-actions":
		add(b.env["GITHUB_STEP_SUMMARY"], os.O_APPEND, plain(b.result.Summary))
	case "gitlab-ci":
		add(codeQualityFile, os.O_TRUNC, b.result.CodeQuality)
		add(dotenvFile, os.O_TRUNC, func() ([]byte, error) { return b.result.Dotenv(), nil })
	}
	add(b.SARIF, os.O_TRUNC, func() ([]byte, error) { return b.result.SARIF(about.Version) })
	add(b.JSON, os.O_TRUNC, func() ([]byte, error) { return json.MarshalIndent(b.result, "", "  ") })
	return list
}
