package web

import (
	"cmp"
	"embed"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
)

// wayFiles are what people copy: what docs/connect-your-ci.md shows, which a test
// compares, and commands for a terminal.
//
//go:embed ways/*
var wayFiles embed.FS

// What stands in the files for the server and for the token.
const (
	exampleServer = "https://redoubt.example"
	exampleToken  = "YOUR_TOKEN"
)

// startWay is one way to a first scan: a tab of the first step.
type startWay struct {
	Key, Label string
	Chosen     bool
	Fresh      bool // the token was made for this one
	Blocks     []wayBlock
}

// wayBlock is something to copy, and what to do with it.
type wayBlock struct {
	Note string
	Text string
	file string
}

// ways are the tabs that take a token, in their order. Two more lead to other pages.
var ways = []startWay{
	{Key: "terminal", Label: "This computer", Blocks: []wayBlock{
		{Note: "In a git checkout. It hands in lockfiles, and runs semgrep where that is installed:", file: "redoubt.sh"},
		{Note: "Or with the scanner alone, without Redoubt’s program:", file: "semgrep.sh"},
		{Note: "Or hand in what any other scanner wrote:", file: "report.sh"},
	}},
	{Key: "github", Label: "GitHub Actions", Blocks: []wayBlock{
		{Note: "Keep the token as a secret of the repository:", file: "github-secret.sh"},
		{Note: "Then commit this as .github/workflows/redoubt.yml:", file: "github.yaml"},
	}},
	{Key: "gitlab", Label: "GitLab CI", Blocks: []wayBlock{
		{Note: "Keep the token as a masked variable of the project or group:", file: "gitlab-variable.sh"},
		{Note: "Then add this to .gitlab-ci.yml:", file: "gitlab.yaml"},
	}},
	{Key: "other", Label: "Other CI", Blocks: []wayBlock{
		{Note: "One line for any CI. Keep the token as a secret of the build:", file: "redoubt.sh"},
		{Note: "Or for Jenkins, with the token as the credential redoubt-token:", file: "jenkins.groovy"},
	}},
}

// startToken is how long a token lives that the first start makes.
const startToken = 90 * 24 * time.Hour

// tokenName is what a token is called that is made for a way.
func (w startWay) tokenName() string { return w.Label + " (first start)" }

// startWays are the tabs with the server's address and the token, where there is one,
// filled in. Chosen is the one that was asked for, or that the token was made for.
func startWays(base, token, from, made string) []startWay {
	fill := strings.NewReplacer(exampleServer, base, exampleToken, cmp.Or(token, exampleToken))
	out := slices.Clone(ways)
	for i := range out {
		w := &out[i]
		w.Fresh = token != "" && made == w.tokenName()
		w.Chosen = w.Fresh || made == "" && w.Key == from
		w.Blocks = slices.Clone(w.Blocks)
		for j := range w.Blocks {
			text, err := wayFiles.ReadFile("ways/" + w.Blocks[j].file)
			if err != nil {
				panic(err) // it is part of the program
			}
			w.Blocks[j].Text = fill.Replace(string(text))
		}
	}
	if !slices.ContainsFunc(out, func(w startWay) bool { return w.Chosen }) && from != "upload" && from != "host" {
		out[0].Chosen = true
	}
	return out
}

// createStartToken makes a token that may hand in scans, with one click, for the way
// that the form names.
func (req *request) createStartToken() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(ways, func(w startWay) bool { return w.Key == form.Get("from") })
	if at < 0 {
		return redoubt.Invalid("from", "is none of the ways to scan")
	}
	secret := auth.NewSecret(req.viewer.Deployment.ID)
	token := redoubt.Token{Name: ways[at].tokenName(), PublicID: secret.PublicID, Scopes: []redoubt.Scope{redoubt.ScopeCI}, Dialect: redoubt.DialectContract, ExpiresAt: req.Clock().Add(startToken)}
	if token, err = req.keepToken(token, secret); err != nil {
		return err
	}
	req.showOnce(startPath, token.ID, secret.Text)
	return nil
}

// madeStartToken fills in the token that was made just now.
func (req *request) madeStartToken(p *startPage) error {
	var s tokensView
	id, text := req.shownOnce(startPath)
	if err := req.madeTokenOf(&s, id, text); err != nil {
		return err
	}
	p.MadeAs, p.Made = s.MadeAs, s.Made
	return nil
}
