package export

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// split parses a table like a lenient program with another separator. A cell that starts with a
// quote ends with one, and the text up to the separator is appended.
func split(text string, by byte, spaces bool) (cells []string) {
	for text != "" {
		var cell strings.Builder
		if spaces {
			text = strings.TrimLeft(text, " ")
		}
		if quoted := strings.HasPrefix(text, `"`); quoted {
			for text = text[1:]; text != ""; text = text[1:] {
				if text[0] == '"' {
					if !strings.HasPrefix(text, `""`) {
						text = text[1:]
						break
					}
					text = text[1:]
				}
				cell.WriteByte(text[0])
			}
		}
		for ; text != "" && text[0] != by && text[0] != '\n' && text[0] != '\r'; text = text[1:] {
			cell.WriteByte(text[0])
		}
		cells = append(cells, cell.String())
		text = text[min(1, len(text)):]
	}
	return cells
}

// TestCellsAreNotFormulasAfterSplit checks cells that start within a text for programs that split
// at semicolons, tabs or bars.
func TestCellsAreNotFormulasAfterSplit(t *testing.T) {
	piece := rapid.SampledFrom([]string{"=cmd()", "+1", "-2", "@SUM(A1)", "＝1", ";", "\t", "|", ",", "\n", "\r", "\r\n", `"`, `""`, " ", "'", "x", "\u00a0", "a=b", "é"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "text"), "") })
	rapid.Check(t, func(r *rapid.T) {
		var findings []api.Finding
		for range 2 {
			f := aFinding(1)
			f.RuleMessage, f.Ref, f.RuleName, f.Location.FilePath = new(text.Draw(r, "message")), text.Draw(r, "ref"), text.Draw(r, "rule"), text.Draw(r, "path")
			f.Repository.URL = text.Draw(r, "last")
			findings = append(findings, f)
		}
		written := write(t, CSV, &listed{issueType: model.SAST, findings: findings})
		for _, by := range []byte(",;\t|") {
			for _, spaces := range []bool{false, true} {
				for _, cell := range split(string(written), by, spaces) {
					if bare := strings.TrimLeft(cell, " \u00a0"); strings.HasPrefix(bare, "＝") || bare != "" && strings.Contains("=+-@", bare[:1]) {
						r.Fatalf("split by %q, a cell is %q in\n%s", by, cell, written)
					}
				}
			}
		}
	})
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"a;=1": "a;'=1", "a\t-1": "a\t'-1", "a|@x": "a|'@x", "a\n+1": "a\n'+1", "a\r\n=1": "a\r\n'=1", "a; =1": "a;' =1", `a;"=1`: `a;'"=1`, `a; "" =1`: `a;' "" =1`,
		"=1;=2": "'=1;'=2", ";;=1": ";;'=1", ";": ";", "a;b=1": "a;b=1", "a,=1": "a,=1", "a; b\n": "a; b\n", "": "", `"=1`: `"=1`,
	} {
		if got := Harmless(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// unescapeUnits decodes text according to the format: from left to right, each unit once.
func unescapeUnits(s string) string {
	return regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`).ReplaceAllStringFunc(s, func(u string) string {
		code, err := strconv.ParseUint(u[2:6], 16, 16)
		if err != nil {
			panic(err)
		}
		return string(rune(code))
	})
}

// TestUnitsRoundTrip checks that texts in the form of encoded units are preserved, including
// those that share underscores.
func TestUnitsRoundTrip(t *testing.T) {
	for text, want := range map[string]string{
		"_x0041_": "_x005F_x0041_", "_x005F_x0041_": "_x005F_x005F_x005F_x0041_", "__x0041__": "__x005F_x0041__", "_x004_": "_x004_", "_X0041_": "_X0041_",
	} {
		if got := escapeUnits(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
	piece := rapid.SampledFrom([]string{"_", "x", "_x", "005F", "0041", "x005f", "_x0041_", "00", "d", "G", "é"})
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(r, "pieces"), "")
		var b bytes.Buffer
		if err := xml.EscapeText(&b, []byte(escapeUnits(text))); err != nil {
			r.Fatal(err)
		}
		if got := unescapeUnits(b.String()); got != text {
			r.Fatalf("%q is written as %q and read as %q", text, b.String(), got)
		}
	})
}
