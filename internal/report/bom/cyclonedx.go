package bom

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// cycloneDX reads a CycloneDX BOM in JSON or XML. Components that are not packages, such as files
// and operating systems, are ignored.
type cycloneDX struct {
	*bom
	vulnerabilities []cdx.Vulnerability
	items           []string // items of vulnerabilities
	vex             cycloneDXVEX
	related         bool // whether the document contains dependencies
}

// cycloneDXVersions are the supported versions.
var cycloneDXVersions = []string{"1.2", "1.3", "1.4", "1.5", "1.6", "1.7"}

func newCycloneDX(o format.Options) *cycloneDX {
	return &cycloneDX{bom: newBOM(o, "cyclonedx"), vex: cycloneDXVEX{options: o}}
}

// ReadCycloneDXJSON streams the components, so that a single invalid one can be refused.
func ReadCycloneDXJSON(in *format.Input, o format.Options) ([]*model.Report, error) {
	c := newCycloneDX(o)
	w := in.Walker()
	version := read.Text("")
	err := w.Object("", func(name string) error {
		switch name {
		case "specVersion":
			_, err := w.Decode(name, &version)
			return err
		case "serialNumber":
			_, err := w.Decode(name, &c.vex.serial)
			return err
		case "version":
			_, err := w.Decode(name, &c.vex.version)
			return err
		case "metadata":
			var m cdx.Metadata
			_, err := w.Decode(name, &m)
			c.metadata(&m)
			return err
		case "components":
			return w.Array(name, each(w, c.bom, c.component))
		case "dependencies":
			return w.Array(name, each(w, c.bom, c.dependency))
		case "vulnerabilities":
			return w.Array(name, each(w, c.bom, c.vulnerability))
		}
		return w.Skip(name)
	})
	if err != nil {
		return nil, err
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	return c.report(string(version))
}

// each returns an element function that decodes a value and calls handle, or refuses the item.
func each[T any](w *format.Walker, b *bom, handle func(item string, v *T)) func(item string) error {
	return func(item string) error {
		var v T
		w.In.Build(format.EdgeSize)
		misfit, err := w.Parse(item, &v)
		if err != nil {
			return err
		}
		if misfit != "" {
			b.refuse(item, "%s", misfit)
			return nil
		}
		handle(item, &v)
		return nil
	}
}

// ReadCycloneDXXML reads a CycloneDX document in XML.
func ReadCycloneDXXML(in *format.Input, o format.Options) ([]*model.Report, error) {
	data, err := in.All()
	if err != nil {
		return nil, err
	}
	var doc cdx.BOM
	if err := decodeXML(data, &doc); err != nil {
		return nil, err
	}
	c := newCycloneDX(o)
	c.vex.serial, c.vex.version = read.Text(doc.SerialNumber), read.Number(max(doc.Version, 0))
	if doc.Metadata != nil {
		c.metadata(doc.Metadata)
	}
	for i := range list(doc.Components) {
		c.component(fmt.Sprintf("components[%d]", i), &(*doc.Components)[i])
	}
	for i := range list(doc.Dependencies) {
		c.dependency("", &(*doc.Dependencies)[i])
	}
	for i := range list(doc.Vulnerabilities) {
		c.vulnerability(fmt.Sprintf("vulnerabilities[%d]", i), &(*doc.Vulnerabilities)[i])
	}
	return c.report(doc.XMLNS[strings.LastIndexByte(doc.XMLNS, '/')+1:])
}

// decodeXML decodes a document and returns an error if more elements follow.
func decodeXML(data []byte, v any) error {
	dec := xml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(v); err != nil {
		return &read.PositionError{Offset: dec.InputOffset(), Err: err}
	}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, isElement := token.(xml.StartElement); isElement || err != nil {
			return &read.PositionError{Offset: dec.InputOffset(), Err: read.ErrTrailing}
		}
	}
}

// list returns the slice that a pointer refers to, or nil.
func list[T any](p *[]T) []T {
	if p == nil {
		return nil
	}
	return *p
}

// report builds the report after the document is read.
func (c *cycloneDX) report(version string) ([]*model.Report, error) {
	if !slices.Contains(cycloneDXVersions, version) {
		return nil, fmt.Errorf("CycloneDX %q is not supported; use one of %s",
			read.Text(version).Name(), strings.Join(cycloneDXVersions, ", "))
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	if c.isVEXDocument() {
		return []*model.Report{c.document()}, nil
	}
	c.offer()
	if c.isOurs() { // inventory only: findings are from scanners and advisories, decisions from VEX documents
		c.rep.SkippedVulnerabilities = len(c.vulnerabilities)
		return []*model.Report{c.rep}, nil
	}
	for i := range c.vulnerabilities {
		c.results(c.items[i], &c.vulnerabilities[i])
	}
	if err := c.analyses(); err != nil {
		return nil, fmt.Errorf("vulnerabilities: %w", err)
	}
	return []*model.Report{c.rep}, nil
}

func (c *cycloneDX) metadata(m *cdx.Metadata) {
	c.rep.StartedAt = format.Time(m.Timestamp).Time()
	c.vex.metadata(m)
	if m.Component != nil {
		c.root = m.Component.BOMRef
		if m.Component.Type == cdx.ComponentTypeContainer {
			c.rep.Image = format.ImageName(m.Component.Name)
		}
	}
	if m.Tools == nil {
		return
	}
	for _, t := range list(m.Tools.Tools) {
		c.tool(t.Name, t.Version)
		return
	}
	for _, t := range list(m.Tools.Components) {
		c.tool(t.Name, t.Version)
		return
	}
}

// MaxComponentDepth is the maximum nesting of components. Tools use two or three levels, and each
// level makes the locations of nested components longer.
const MaxComponentDepth = 64

func (c *cycloneDX) component(item string, v *cdx.Component) {
	p := &part{
		ref: v.BOMRef, name: v.Name, version: RealVersion(v.Version), purl: v.PackageURL, location: locationOf(v),
		licenses: licensesOf(licenseNames(v.Licenses)...),
	}
	if v.Group != "" {
		p.name = v.Group + "/" + v.Name
	}
	switch v.Type {
	case cdx.ComponentTypeLibrary, cdx.ComponentTypeFramework:
	case cdx.ComponentTypeApplication:
		p.software = true
		p.listsOwn = v.PackageURL == "" && lockfile.Is(v.Name)
	default:
		p.skip = true
	}
	p.supplier = cdxSupplier(v.Supplier)
	for _, property := range list(v.Properties) {
		c.note(p, property.Name, property.Value)
	}
	for _, h := range list(v.Hashes) {
		if hash, ok := archiveHash(string(h.Algorithm), h.Value); ok {
			p.hashes = append(p.hashes, hash)
		}
	}
	c.Add(p)
	if nested := len(list(v.Components)); nested > 0 && strings.Count(item, ".") >= MaxComponentDepth {
		c.refuse(item, "it has components more than %d levels deep, which are not read", MaxComponentDepth)
		return
	}
	for i := range list(v.Components) {
		c.component(fmt.Sprintf("%s.components[%d]", item, i), &(*v.Components)[i])
	}
}

// cdxSupplier returns an organization, or else a person in the notation of SPDX.
func cdxSupplier(who *cdx.OrganizationalEntity) string {
	if who == nil {
		return ""
	}
	if name := supplierOf(who.Name); name != "" {
		return name
	}
	for _, contact := range list(who.Contact) {
		if name := supplierOf(contact.Name); name != "" {
			return "Person: " + name
		}
	}
	return ""
}

// locationOf returns the file in which a component was found. It is in a property of syft, Trivy or
// cdxgen, or a lockfile in the occurrences.
func locationOf(v *cdx.Component) string {
	for _, p := range list(v.Properties) {
		switch p.Name {
		case "syft:location:0:path", "aquasecurity:trivy:FilePath", "SrcFile":
			return p.Value
		}
	}
	if v.Evidence == nil {
		return ""
	}
	for _, o := range list(v.Evidence.Occurrences) {
		if lockfile.Is(o.Location) {
			return o.Location
		}
	}
	return ""
}

func licenseNames(choices *cdx.Licenses) []string {
	var out []string
	if choices == nil {
		return nil
	}
	for _, choice := range *choices {
		if choice.License != nil {
			out = append(out, cmp.Or(choice.License.ID, choice.License.Name))
		}
		out = append(out, choice.Expression)
	}
	return out
}

func (c *cycloneDX) dependency(_ string, v *cdx.Dependency) {
	c.related = true
	for _, to := range list(v.Dependencies) {
		c.link(v.Ref, to)
	}
}

func (c *cycloneDX) vulnerability(item string, v *cdx.Vulnerability) {
	c.budget.Build(format.SizeOf(v)+format.EdgeSize*len(list(v.Affects)), c.built)
	c.vulnerabilities = append(c.vulnerabilities, *v)
	c.items = append(c.items, item)
}
