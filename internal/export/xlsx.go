package export

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Limits of the format.
const (
	sheetRows = 1 << 20 // including the header
	cellUnits = 32767   // UTF-16 code units per text
)

// Indexes of cell styles in xlsxStyles.
const (
	plainStyle = iota
	headStyle
	timeStyle
	quotedStyle // displayed as text even after editing
)

// workbook writes Office Open XML. It writes the parts of the archive in sequence, without
// buffering them in memory or temporary files.
type workbook struct {
	zip    *zip.Writer
	sheet  *bufio.Writer
	sheets int // started sheets
	of     int // total number of sheets
	row    int // current row, from 1
	refs   []string
}

// newXLSX starts a workbook with the number of sheets required for total findings.
func newXLSX(w io.Writer, total int) (*workbook, error) {
	x := &workbook{
		zip:   zip.NewWriter(w),
		sheet: bufio.NewWriterSize(nil, 32<<10),
		of:    max((total+sheetRows-2)/(sheetRows-1), 1),
	}
	for i := range columns {
		x.refs = append(x.refs, columnName(i))
	}
	for _, p := range xlsxParts(x.of) {
		part, err := x.zip.Create(p.name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(part, xml.Header+p.content); err != nil {
			return nil, err
		}
	}
	return x, x.begin()
}

func (*workbook) part() error { return nil }

func (x *workbook) raw(t model.IssueType, raw []byte) error {
	f, err := decoded(t, raw)
	if err != nil {
		return err
	}
	if x.row == sheetRows {
		if err := x.end(); err != nil {
			return err
		}
		if err := x.begin(); err != nil {
			return err
		}
	}
	x.row++
	fmt.Fprintf(x.sheet, `<row r="%d">`, x.row)
	for i := range columns {
		x.cell(i, columns[i].of(f))
	}
	_, err = x.sheet.WriteString("</row>")
	return err
}

// begin starts a sheet with a fixed header row.
func (x *workbook) begin() error {
	x.sheets++
	part, err := x.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", x.sheets))
	if err != nil {
		return err
	}
	x.sheet.Reset(part)
	x.row = 1
	fmt.Fprint(x.sheet, xml.Header+`<worksheet xmlns="`+sheetSpace+`"><sheetViews><sheetView workbookViewId="0"><pane `+
		`ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`)
	for i := range columns {
		fmt.Fprintf(x.sheet, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, i+1, i+1, columns[i].width)
	}
	fmt.Fprint(x.sheet, `</cols><sheetData><row r="1">`)
	for i := range columns {
		x.text(i, headStyle, columns[i].name)
	}
	_, err = x.sheet.WriteString("</row>")
	return err
}

func (x *workbook) end() error {
	fmt.Fprintf(x.sheet, `</sheetData><autoFilter ref="A1:%s%d"/></worksheet>`, x.refs[len(x.refs)-1], x.row)
	return x.sheet.Flush()
}

func (x *workbook) close() error {
	for { // announced sheets remain empty if findings were deleted since
		if err := x.end(); err != nil {
			return err
		}
		if x.sheets == x.of {
			return x.zip.Close()
		}
		if err := x.begin(); err != nil {
			return err
		}
	}
}

// cell writes a value with its type. Strings are never formulas.
func (x *workbook) cell(i int, v any) {
	switch v := v.(type) {
	case string:
		switch {
		case v == "":
		case startsFormula(v):
			x.text(i, quotedStyle, v)
		default:
			x.text(i, plainStyle, v)
		}
	case int64:
		fmt.Fprintf(x.sheet, `<c r="%s%d"><v>%d</v></c>`, x.refs[i], x.row, v)
	case float64:
		fmt.Fprintf(x.sheet, `<c r="%s%d"><v>%s</v></c>`, x.refs[i], x.row, strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		n := 0
		if v {
			n = 1
		}
		fmt.Fprintf(x.sheet, `<c r="%s%d" t="b"><v>%d</v></c>`, x.refs[i], x.row, n)
	case time.Time:
		fmt.Fprintf(x.sheet, `<c r="%s%d" s="%d"><v>%s</v></c>`,
			x.refs[i], x.row, timeStyle, strconv.FormatFloat(serial(v), 'f', 9, 64))
	}
}

func (x *workbook) text(i, style int, s string) {
	fmt.Fprintf(x.sheet, `<c r="%s%d" s="%d" t="inlineStr"><is><t xml:space="preserve">`, x.refs[i], x.row, style)
	// Errors may be ignored: the writer returns its first error from Flush.
	_ = xml.EscapeText(x.sheet, []byte(escapeUnits(cutUnits(s, cellUnits))))
	fmt.Fprint(x.sheet, "</t></is></c>")
}

// unit matches the format's encoding of code units that XML cannot represent.
var unit = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// escapeUnits escapes texts that match unit by encoding their first underscore. Matches may share
// an underscore.
func escapeUnits(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for at := unit.FindStringIndex(s); at != nil; at = unit.FindStringIndex(s) {
		b.WriteString(s[:at[0]] + "_x005F_")
		s = s[at[0]+1:]
	}
	return b.String() + s
}

// cutUnits truncates a text to n UTF-16 code units, including an ellipsis at the end.
func cutUnits(s string, n int) string {
	if len(s) <= n {
		return s
	}
	units, end := 0, 0
	for at, r := range s {
		size := max(utf16.RuneLen(r), 1)
		if units += size; units < n {
			end = at + max(utf8.RuneLen(r), 1)
		}
	}
	if units <= n {
		return s
	}
	return s[:min(end, len(s))] + "…"
}

// serial returns a time in UTC as a spreadsheet date: days since 1899-12-30.
func serial(t time.Time) float64 {
	return float64(
		t.UTC().Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Microseconds(),
	) / float64((24 * time.Hour).Microseconds())
}

// columnName returns the name of a column: A to Z, then AA and so on.
func columnName(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return columnName(i/26-1) + columnName(i%26)
}
