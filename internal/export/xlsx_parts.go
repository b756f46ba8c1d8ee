package export

import (
	"fmt"
	"strings"
)

// Namespaces and content types of Office Open XML.
const (
	sheetSpace    = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relationSpace = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packageSpace  = "http://schemas.openxmlformats.org/package/2006/"
	sheetType     = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

type xlsxPart struct{ name, content string }

// xlsxParts returns the parts that precede the sheets.
func xlsxParts(sheets int) []xlsxPart {
	var types, listed, related strings.Builder
	for i := 1; i <= sheets; i++ {
		name := "Findings"
		if i > 1 {
			name = fmt.Sprintf("Findings %d", i)
		}
		fmt.Fprintf(&types, `<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="%sworksheet+xml"/>`, i, sheetType)
		fmt.Fprintf(&listed, `<sheet name="%s" sheetId="%d" r:id="rId%d"/>`, name, i, i)
		fmt.Fprintf(&related, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>`,
			i, relationSpace, i)
	}
	return []xlsxPart{
		{"[Content_Types].xml", `<Types xmlns="` + packageSpace + `content-types"><Default Extension="rels" ` +
			`ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="` + sheetType + `sheet.main+xml"/><Override ` +
			`PartName="/xl/styles.xml" ContentType="` + sheetType + `styles+xml"/>` + types.String() + `</Types>`},
		{
			"_rels/.rels",
			`<Relationships xmlns="` + packageSpace + `relationships"><Relationship Id="rId1" Type="` + relationSpace +
				`/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		},
		{
			"xl/workbook.xml",
			`<workbook xmlns="` + sheetSpace + `" xmlns:r="` + relationSpace + `"><sheets>` + listed.String() +
				`</sheets></workbook>`,
		},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packageSpace + `relationships">` + related.String() +
			fmt.Sprintf(`<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/></Relationships>`,
				sheets+1, relationSpace)},
		{"xl/styles.xml", xlsxStyles},
	}
}

// xlsxStyles defines the styles of plain cells, the header, times, and text with an invisible quote
// prefix.
const xlsxStyles = `<styleSheet xmlns="` + sheetSpace + `">` +
	`<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
	`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name ` +
	`val="Calibri"/></font></fonts>` +
	`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill ` +
	`patternType="gray125"/></fill></fills>` +
	`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
	`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
	`<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
	`<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>` +
	`<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>` +
	`<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/></cellXfs>` +
	`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
