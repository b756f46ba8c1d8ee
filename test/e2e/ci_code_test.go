package e2e

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Snippets returns the stored code, by rule and place of its finding.
func (w *ciWorld) Snippets() map[string]model.Snippet {
	w.Helper()
	c := store.Config{Dir: w.data, Clock: time.Now}
	if w.storage[0] == "--database-url" {
		c = store.Config{DatabaseURL: w.storage[1], Clock: time.Now}
	}
	st, err := store.Open(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	defer st.Close()
	out := map[string]model.Snippet{}
	d, err := st.Deployment(w.Context(), "acme")
	if err != nil {
		w.Fatal(err)
	}
	err = st.View(w.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		for id := int64(1); ; id++ {
			f, err := tx.Finding(ctx, id)
			if errors.Is(err, model.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			if s, err := tx.Snippet(ctx, id); err == nil {
				out[f.Ref[len("refs/heads/"):]+" "+f.RuleName+" "+f.Path] = s
			}
		}
	})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// codeAround checks that the lines around every finding are uploaded, for all tools, with secrets
// masked.
func codeAround(w *ciWorld) {
	w.write("sec.py", "# one\ndef s(a):\n    T = \""+ciSecret+"\"\n    return a == a\n\n\n# end\n")
	w.write("leaks.json", `[{"RuleID":"generic","Description":"d","StartLine":1,"EndLine":1,"StartColumn":1,"EndColumn":9,"Match":"x","Secret":"swordfish-nine","File":"notes.txt","Commit":"","Fingerprint":"notes.txt:generic:1"}]`)
	w.write("notes.txt", "swordfish-nine\nplain: words here\n")
	w.write("use.py", "def u(a):\n    log(\"swordfish-nine\")\n    return a == a\n")
	w.git("add", "sec.py", "use.py", "notes.txt")
	w.git("commit", "-q", "-m", "secrets")
	w.redoubt("policy", "set-mode", "eqeq", "monitor")
	out, output := w.build(0, "main", []string{"--report", "leaks.json"})
	if out.Code < 8 {
		w.Errorf("%d findings got code:\n%s", out.Code, output)
	}
	snippets := w.Snippets()
	for of, want := range map[string]string{
		"main eqeq app.py":                    "\ndef k(y):\n    return y == y  # nosemgrep: eqeq",
		"main taint-x app.py":                 "def g():\n    c = input()\n    os.system(c)\n\ndef h(p):",
		"main eqeq sec.py":                    "def s(a):\n[REDACTED]\n    return a == a\n\n",
		"main hardcoded-token sec.py":         "# one\ndef s(a):\n[REDACTED]\n    return a == a\n",
		"main hardcoded-token conf.py":        "[REDACTED]",
		"main eqeq use.py":                    "def u(a):\n    log(\"[REDACTED]\")\n    return a == a",
		"main generic notes.txt":              "[REDACTED]\nplain: [REDACTED]",
		"main sca-upgrade requirements.txt":   "requests==2.19.0\npyyaml==5.3\nflask==3.0.0",
		"main sca-unreached requirements.txt": "requests==2.19.0\npyyaml==5.3\nflask==3.0.0",
		"main js-eval web/main.js":            "eval(location.hash)",
		"main sca-reached app.py":             "\ndef h(p):\n    return yaml.load(p)\n\ndef k(y):",
	} {
		if got := strings.Join(snippets[of].Lines, "\n"); got != want {
			w.Errorf("%s: %q, want %q", of, got, want)
		}
	}
	if got := snippets["main taint-x app.py"]; got.First != 6 || got.Line != 8 || got.Commit != out.Commit || got.Path != "app.py" {
		w.Errorf("%+v", got)
	}
	w.checkNoSecret()
}

// codeFollows checks that the next build replaces the code, a scan alone leaves it, and a fix
// deletes it.
func codeFollows(w *ciWorld) {
	w.edit("use.py", "def u(a):", "import x\n\ndef u(a):")
	w.commit("down")
	w.want(0, "main")
	old := w.Snippets()["main eqeq use.py"]
	if old.Line != 3 || len(old.Lines) == 0 {
		w.Errorf("a scan alone left %+v", old)
	}
	w.build(0, "main", nil)
	if got := w.Snippets()["main eqeq use.py"]; got.Line != 5 || got.First != 3 || got.Lines[0] != "def u(a):" || got.Commit == old.Commit {
		w.Errorf("%+v", got)
	}
	w.git("mv", "use.py", "used.py")
	w.commit("move")
	w.build(0, "main", nil)
	if got := w.Snippets()["main eqeq used.py"]; got.Path != "used.py" || got.Line != 5 {
		w.Errorf("%+v", got)
	}
	w.edit("used.py", "a == a", "a")
	w.edit("sec.py", "a == a", "a")
	w.commit("fix")
	w.want(0, "main")
	if _, found := w.Snippets()["main eqeq used.py"]; found {
		w.Error("a fixed finding has code")
	}
}

// noCode checks that a flag or a setting of the deployment prevents uploads, and that the setting
// deletes stored code.
func noCode(w *ciWorld) {
	sends := func() (n int) {
		for _, r := range w.requests() {
			if strings.HasPrefix(r, "POST ") && strings.HasSuffix(r, "/snippets") {
				n++
			}
		}
		return n
	}
	before := sends()
	if out, output := w.build(0, "main", []string{"--no-code"}); out.Code != 0 || sends() != before {
		w.Errorf("%+v\n%s", out, output)
	}
	w.redoubt("deployment", "set", "acme", "--code=off")
	if got := w.Snippets(); len(got) != 0 {
		w.Errorf("disabled, there is code: %v", got)
	}
	if out, output := w.build(0, "main", nil, same); out.Code != 0 || sends() != before {
		w.Errorf("%+v\n%s", out, output)
	}
	w.redoubt("deployment", "set", "acme", "--code=on")
	w.build(0, "main", nil, same)
	if got := w.Snippets(); len(got) < 5 || sends() == before {
		w.Errorf("enabled, there is code of %d findings", len(got))
	}
	if trail := w.redoubt("audit", "--limit", "1000"); strings.Count(trail, "keeps_code") < 2 || !strings.Contains(trail, "scan.code") {
		w.Errorf("the audit log has no entry:\n%s", trail)
	}
}
