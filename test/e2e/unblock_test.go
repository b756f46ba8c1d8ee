package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// blockingLink matches the URL of the blocking findings in the output of a build.
var blockingLink = regexp.MustCompile(`https?://\S+/orgs/acme/scans/\d+/blocking\b`)

const password = "correct horse battery"

// TestUnblock follows the link in the output of a failed build: through the sign-in to the blocking
// findings, and a triage of all of them. Then the page announces that a rerun will pass, and the
// real scanner confirms it.
func TestUnblock(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	for _, rule := range []string{"eqeq", "sca-reached", "js-eval"} {
		w.redoubt("policy", "set-mode", rule, "block")
	}
	w.user("tess", "triager")
	w.edit("app.py", "return yaml.load(p)", "return p")
	w.edit("web/main.js", "eval(location.hash)", "alert(1)")
	w.commit("without what blocks later")
	w.want(0, "main")
	w.git("checkout", "-q", "-b", "topic")
	w.write("more.py", "import yaml\n\ndef m(z):\n    yaml.load(z)\n    return z == z\n")
	w.commit("more")
	diff := []string{"--baseline-commit", "main"}

	blocked := w.want(1, "topic", diff...)
	link := blockingLink.FindString(blocked.stderr)
	if link == "" {
		t.Fatalf("the output has no link:\n%s", blocked.stderr)
	}
	// those of the scanner and of redoubt ci
	if _, output := w.build(1, "topic", append([]string{"--"}, diff...)); len(blockingLink.FindAllString(output, -1)) < 2 {
		t.Errorf("redoubt ci prints no link:\n%s", output)
	}

	p := newPerson(t)
	p.does(chromedp.Navigate(link))
	p.signsIn("tess")
	p.waits(`location.pathname.endsWith("/blocking") && document.querySelectorAll("[data-blocked]").length === 2`)
	page := p.reads(`document.querySelector("main").innerText`)
	for _, want := range []string{"eqeq", "more.py:5", "is compared to itself", "sca-reached", "more.py:4", "pyyaml 5.3"} {
		if !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
			t.Errorf("the page does not show %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "js-eval") || strings.Contains(page, "taint-x") {
		t.Errorf("the page shows:\n%s", page)
	}

	first := p.reads(`document.querySelector("[data-blocked]").dataset.blocked`)
	p.ignores(first)
	p.waits(`document.querySelector("[data-verdict=block]") && document.querySelectorAll(".blocked .passes").length === 1`)
	second := p.reads(`document.querySelector("[data-blocked]:not(.passes)").dataset.blocked`)
	if first == second {
		t.Error("the ignored finding is still first")
	}
	if r := w.want(1, "topic", diff...); !blockingLink.MatchString(r.stderr) {
		t.Errorf("half of it ignored, and the re-run prints:\n%s", r.stderr)
	}
	p.ignores(second)
	p.waits(`document.querySelector("[data-verdict=pass]")`)
	if text := p.reads(`[...document.querySelectorAll(".blocked dd[data-say=ignored]")].map(dd => dd.innerText).join("\n")`); strings.Count(text, "tess") != 2 {
		t.Errorf("the page does not name the user who decided:\n%s", text)
	}
	w.want(0, "topic", diff...)

	// A reverted decision blocks again.
	p.does(chromedp.Click(`.done button`))
	p.waits(`document.querySelector("[data-verdict=block]")`)
	w.want(1, "topic", diff...)
}

// user creates a user with a password.
func (w *ciWorld) user(name, role string) {
	w.Helper()
	cmd := exec.Command("redoubt", append([]string{"user", "create", "--role", role, name}, w.storage...)...)
	cmd.Stdin = strings.NewReader(password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%v\n%s", err, out)
	}
}

// signsIn completes the sign-in page.
func (p *person) signsIn(name string) {
	p.Helper()
	p.does(chromedp.WaitVisible("#password"), chromedp.SendKeys("#name", name), chromedp.SendKeys("#password", password), chromedp.Click("form .primary"))
}

// ignores ignores a finding on the page of blocking findings.
func (p *person) ignores(id string) {
	p.Helper()
	form := `[data-blocked="` + id + `"] form.decide `
	p.does(chromedp.Click(form+`input[value="ignored"]`), chromedp.SetValue(form+`select[name="reason"]`, "false_positive"), chromedp.Click(form+"button.primary"))
}
