package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestJourney performs a complete workflow with the real server, scanner and browser. It creates
// the first admin and a token, and runs a scan whose findings appear on the open page. A build
// fails, and passes after a triage by keyboard. It ends with a valid bill of materials.
func TestJourney(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	w.redoubt("policy", "set-mode", "eqeq", "block")
	p := newPerson(t)
	p.createAdmin(w.ready.SetupURL)
	token := p.createToken()
	as := "SEMGREP_APP_TOKEN=" + token

	// The list is empty, and fills while it is open.
	p.opens(w, "/findings?rules=eqeq&branch=every&sort=newest")
	p.waits(`!document.querySelector("[data-row]") && document.querySelector("#news")`)
	w.wantAs(0, as, "main")
	p.waits(`document.querySelectorAll("[data-row]").length === 1`)

	// A branch adds findings: the page announces them and does not change.
	w.git("checkout", "-q", "-b", "topic")
	w.write("more.py", "def m(z):\n    return z == z\n\ndef n(z):\n    return z == z\n")
	w.commit("more")
	diff := []string{"--baseline-commit", "main"}
	w.wantAs(1, as, "topic", diff...)
	p.waits(`document.querySelector("#news a")?.textContent.startsWith("2 ")`)
	if n := p.reads(`String(document.querySelectorAll("[data-row]").length)`); n != "1" {
		t.Errorf("the page has %s rows before the request", n)
	}
	p.does(chromedp.Click("#news a"))
	p.waits(`document.querySelectorAll("[data-row]").length === 3 && !document.querySelector("[data-theme-toggle][hidden]")`)

	// j and k change the panel; Back restores filter and row.
	rows := strings.Fields(p.reads(`[...document.querySelectorAll("[data-row]")].map(r => r.dataset.id).join(" ")`))
	shown := func(id string) string {
		return `document.querySelector("#panel [data-finding]")?.dataset.finding === "` + id + `" && document.querySelector("[data-row].current")?.dataset.id === "` + id + `"`
	}
	for _, step := range []struct{ key, id string }{{"j", rows[0]}, {"j", rows[1]}, {"k", rows[0]}} {
		p.does(chromedp.KeyEvent(step.key))
		p.waits(shown(step.id))
	}
	p.does(chromedp.Click(`#panel .crumbs a[href*="/projects/"]`))
	p.waits(`location.pathname.includes("/projects/") && document.readyState === "complete"`)
	p.reads(`(setTimeout(() => history.back(), 0), "")`)
	p.waits(`location.search.includes("rules=eqeq") && ` + shown(rows[0]))
	p.waits(`document.readyState === "complete" && document.querySelector("[data-theme-toggle]:not([hidden])") && !document.querySelector(".htmx-request")`)

	// Triage both findings of the branch by keyboard. After the first, the second opens.
	for i := range 2 {
		p.waits(shown(rows[i]) + ` && !("settling" in document.documentElement.dataset)`)
		p.does(chromedp.KeyEvent("i"))
		p.waits(`document.activeElement.value === "ignored:false_positive"`)
		p.does(chromedp.KeyEvent("1"))
		p.waits(`document.querySelector("[data-say=decided][data-count='1']") && document.querySelectorAll("[data-row]").length === ` + strconv.Itoa(2-i) + ` && !document.querySelector("[data-theme-toggle][hidden]")`)
	}
	w.wantAs(0, as, "topic", diff...)
	p.downloadSBOM(w)
}

// createAdmin opens the setup link of the first start and creates an admin.
func (p *person) createAdmin(setup string) {
	p.Helper()
	p.does(chromedp.Navigate(setup), chromedp.WaitVisible("#name"), chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#display_name", "Ada Lovelace"),
		chromedp.SendKeys("#new-password", password), chromedp.SendKeys("#again", password), chromedp.Click("form .primary"), chromedp.WaitVisible(".who"))
	p.waits(`location.pathname === "/orgs/acme/overview" && document.querySelector("#startsteps")`)
}

// opens opens a page of the deployment and waits until its script ran.
func (p *person) opens(w *ciWorld, page string) {
	p.Helper()
	p.does(chromedp.Navigate(w.ready.BaseURL+"/orgs/acme"+page), chromedp.WaitReady("[data-theme-toggle]:not([hidden])"))
}

// createToken creates a token for builds on the page, which shows it once.
func (p *person) createToken() string {
	p.Helper()
	p.does(chromedp.Click(`nav a[href$="/settings/tokens"]`), chromedp.WaitVisible("input[name=web_api]"))
	if on := p.reads(`String([...document.querySelectorAll("fieldset input:checked")].length)`); on != "0" {
		p.Errorf("%s scopes are already selected", on)
	}
	p.does(chromedp.SendKeys("#name", "pipeline"), chromedp.Click("input[name=ci]"), chromedp.Click("form[action$='/settings/tokens'] .primary"), chromedp.WaitVisible("pre.command"))
	token := strings.TrimSpace(p.reads(`document.querySelector("pre.command").textContent`))
	p.does(chromedp.Click(`nav a[href$="/settings/tokens"]`))
	p.waits(`document.querySelector("main") && !document.querySelector("pre.command") && document.readyState === "complete"`)
	text := p.reads(`document.querySelector("main").innerText`)
	if !regexp.MustCompile(`^rdt_\w+$`).MatchString(token) || strings.Contains(text, token) || !strings.Contains(text, "upload scans") {
		p.Fatalf("the token %q, and the page says:\n%s", token, text)
	}
	return token
}

// wantAs scans with a token and checks the exit code.
func (w *ciWorld) wantAs(exit int, as, branch string, args ...string) {
	w.Helper()
	if r := w.scan(branch, append(slices.Clone(loud), args...), as); r.exit != exit {
		w.Fatalf("the scan of %s ended with %d, want %d:\n%s", branch, r.exit, exit, r.stderr)
	}
}

// downloadSBOM requests a bill of materials on its page, waits for it, and validates the download
// against the official schema.
func (p *person) downloadSBOM(w *ciWorld) {
	p.Helper()
	p.opens(w, "/sbom")
	if format := p.reads(`document.querySelector("#format").value`); !strings.HasSuffix(format, "CYCLONEDX 1.6 json") {
		p.Fatalf("the format is %q unless another is chosen", format)
	}
	p.does(chromedp.Click("form[action$='/sbom'] .primary"), chromedp.WaitVisible("#sbomlist a[download]"))
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`fetch(document.querySelector("#sbomlist a[download]").href).then(r => r.headers.get("content-disposition") + "\n" + r.headers.get("content-type") + "\n").then(async head => head + await (await fetch(document.querySelector("#sbomlist a[download]").href)).text())`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatal(err)
	}
	parts := strings.SplitN(text, "\n", 3)
	if !strings.Contains(parts[0], "attachment") || !strings.Contains(parts[1], "cyclonedx+json") {
		p.Errorf("it is sent as %q, %q", parts[0], parts[1])
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(parts[2]))
	if err != nil {
		p.Fatalf("%v in %.300s", err, parts[2])
	}
	if err := cycloneDX(p).Validate(doc); err != nil {
		p.Errorf("the document is not valid: %v", err)
	}
	for _, want := range []string{`"pkg:pypi/pyyaml@5.3"`, `"pkg:cargo/smallvec@1.6.0"`} {
		if !strings.Contains(parts[2], want) {
			p.Errorf("the document does not contain %s", want)
		}
	}
}

// cycloneDX returns the official schema of the default format.
func cycloneDX(t testing.TB) *jsonschema.Schema {
	t.Helper()
	const sbom = "../../internal/sbom"
	c := jsonschema.NewCompiler()
	for address, file := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "testdata/schemas/bom-1.6.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "testdata/schemas/jsf-0.82.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
	} {
		text, err := os.ReadFile(filepath.Join(sbom, file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err == nil {
			err = c.AddResource(address, doc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
