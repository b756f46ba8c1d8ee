package projects

import (
	"embed"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// setupFiles contains the snippets that users copy: the examples of docs/guides/connect-your-ci.md,
// which a test compares, and shell commands.
//
//go:embed setup/*
var setupFiles embed.FS

// exampleServer is the placeholder for the server's address in the snippets. Snippets contain no
// token, as shell history and process lists would expose it. Commands prompt for it.
const exampleServer = "https://redoubt.example"

// setupCommand describes one method for the first scan: a tab of the first step.
type setupCommand struct {
	Key, Label string
	Chosen     bool
	Fresh      bool // the new token was created for this method
	Blocks     []setupSnippet
}

// setupSnippet is a snippet to copy, with instructions.
type setupSnippet struct {
	Note string
	Text string
	file string
}

// setupMethods are the tabs that use a token, in display order. Two further tabs link to other pages.
var setupMethods = []setupCommand{
	{Key: "terminal", Label: "This computer", Blocks: []setupSnippet{
		{Note: "In a git checkout. It uploads lockfiles, and runs semgrep if installed. It prompts " +
			"for the token:", file: "redoubt.sh"},
		{Note: "Or with the scanner alone, without the redoubt program:", file: "semgrep.sh"},
		{Note: "Or upload another scanner’s report:", file: "report.sh"},
	}},
	{Key: "github", Label: "GitHub Actions", Blocks: []setupSnippet{
		{Note: "Store the token as a secret of the repository. The command prompts for it:", file: "github-secret.sh"},
		{Note: "Then commit this as .github/workflows/redoubt.yml:", file: "github.yaml"},
	}},
	{Key: "gitlab", Label: "GitLab CI", Blocks: []setupSnippet{
		{Note: "Store the token as a masked variable of the project or group. The command prompts for " +
			"it:", file: "gitlab-variable.sh"},
		{Note: "Then add this to .gitlab-ci.yml:", file: "gitlab.yaml"},
	}},
	{Key: "other", Label: "Other CI", Blocks: []setupSnippet{
		{Note: "For any CI, with the token as the secret REDOUBT_TOKEN of the build:", file: "other.sh"},
		{Note: "Or for Jenkins, with the token as the credential redoubt-token:", file: "jenkins.groovy"},
	}},
}

// startToken is the lifetime of a token that the setup guide creates.
const startToken = 90 * 24 * time.Hour

// tokenName returns the name of a token that is created for a method.
func (w setupCommand) tokenName() string { return w.Label + " (first start)" }

// plainAddress matches addresses that need no quotes in shell and YAML.
var plainAddress = regexp.MustCompile(`^[A-Za-z0-9_./:@%+-]+$`)

// quotedIn quotes an address for a kind of file. The address may come from a request and contain
// shell syntax.
func quotedIn(file, address string) string {
	switch {
	case path.Ext(file) == ".groovy": // the placeholder is inside quotes
		return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(address)
	case plainAddress.MatchString(address):
		return address
	case path.Ext(file) == ".sh":
		return `'` + strings.ReplaceAll(address, `'`, `'\''`) + `'`
	}
	return `'` + strings.ReplaceAll(address, `'`, `''`) + `'`
}

// setupTabs returns the tabs with the server's address. The chosen tab is the one whose token is
// fresh, or else the requested one.
func setupTabs(base string, fresh bool, from, made string) []setupCommand {
	out := slices.Clone(setupMethods)
	for i := range out {
		w := &out[i]
		w.Fresh = fresh && made == w.tokenName()
		w.Chosen = w.Fresh || made == "" && w.Key == from
		w.Blocks = slices.Clone(w.Blocks)
		for j := range w.Blocks {
			text, err := setupFiles.ReadFile("setup/" + w.Blocks[j].file)
			if err != nil {
				panic(err) // cannot happen: the file is embedded
			}
			w.Blocks[j].Text = strings.ReplaceAll(string(text), exampleServer, quotedIn(w.Blocks[j].file, base))
		}
	}
	if !slices.ContainsFunc(out, func(w setupCommand) bool { return w.Chosen }) && from != "upload" && from != "host" {
		out[0].Chosen = true
	}
	return out
}

// createStartToken creates a token for scans, for the method in the form.
func createStartToken(req *ui.Request, form url.Values) error {
	at := slices.IndexFunc(setupMethods, func(w setupCommand) bool { return w.Key == form.Get("from") })
	if at < 0 {
		return model.Invalid("from", "must be one of the choices")
	}
	secret := auth.NewSecret(req.Viewer.Deployment.ID)
	token := model.Token{
		Name:      setupMethods[at].tokenName(),
		PublicID:  secret.PublicID,
		Scopes:    []model.Scope{model.ScopeCI},
		Dialect:   model.DialectContract,
		ExpiresAt: req.Clock().Add(startToken),
	}
	token, err := component.CreateToken(req, token, secret)
	if err != nil {
		return err
	}
	req.ShowOnce(ui.StartPath, token.ID, secret.Text)
	return nil
}
