package sbom

import (
	"fmt"
	"io"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/redoubt/redoubt/internal/model"
)

// cdxVersions are the versions of CycloneDX that Write supports.
var cdxVersions = map[string]cdx.SpecVersion{
	"1.4": cdx.SpecVersion1_4,
	"1.5": cdx.SpecVersion1_5,
	"1.6": cdx.SpecVersion1_6,
}

// since15 maps the component types that CycloneDX 1.4 lacks to the closest type it has.
var since15 = map[string]cdx.ComponentType{
	"platform":               cdx.ComponentTypeApplication,
	"device-driver":          cdx.ComponentTypeFirmware,
	"machine-learning-model": cdx.ComponentTypeFile,
	"data":                   cdx.ComponentTypeFile,
}

func cdxType(r model.SBOMRequest) cdx.ComponentType {
	if older, lacking := since15[r.ComponentType]; lacking && r.Version == "1.4" {
		return older
	}
	return cdx.ComponentType(r.ComponentType)
}

// writeCycloneDX writes a document built for the requested version. Conversion by the library would
// copy the whole document.
func writeCycloneDX(w io.Writer, r model.SBOMRequest, c Content, doc document) (mediaType string, err error) {
	bom := cycloneDX(r, c, doc)
	format, name := cdx.BOMFileFormatJSON, "json"
	if r.XML {
		format, name = cdx.BOMFileFormatXML, "xml"
	}
	if err := cdx.NewBOMEncoder(w, format).SetEscapeHTML(false).Encode(bom); err != nil {
		return "", fmt.Errorf("write CycloneDX: %w", err)
	}
	return "application/vnd.cyclonedx+" + name + "; version=" + r.Version, nil
}

func cycloneDX(r model.SBOMRequest, c Content, doc document) *cdx.BOM {
	components := make([]cdx.Component, 0, len(doc.parts)+len(doc.components))
	for _, p := range doc.parts {
		components = append(components, cdxPart(p, cdx.ComponentTypeApplication))
	}
	for _, library := range doc.components {
		components = append(components, cdxComponent(library))
	}
	vulnerabilities := make([]cdx.Vulnerability, len(doc.vulnerabilities))
	for i, v := range doc.vulnerabilities {
		vulnerabilities[i] = cdxVulnerability(v)
	}
	return &cdx.BOM{
		XMLNS:           "http://cyclonedx.org/schema/bom/" + r.Version,
		JSONSchema:      "http://cyclonedx.org/schema/bom-" + r.Version + ".schema.json",
		BOMFormat:       cdx.BOMFormat,
		SpecVersion:     cdxVersions[r.Version],
		SerialNumber:    c.Serial,
		Version:         1,
		Metadata:        cdxMetadata(r, c, doc.root),
		Compositions:    cdxCompositions(doc),
		Components:      &components,
		Dependencies:    cdxDependencies(doc),
		Vulnerabilities: nonEmpty(vulnerabilities),
	}
}

// nonEmpty returns nil for an empty list, so that the document omits it.
func nonEmpty[T any](list []T) *[]T {
	if len(list) == 0 {
		return nil
	}
	return &list
}

func cdxMetadata(r model.SBOMRequest, c Content, root part) *cdx.Metadata {
	component := cdxPart(root, cdxType(r))
	component.Supplier = cdxSupplier(r.Supplier)
	var authors []cdx.OrganizationalContact
	if name := singleLine(c.Deployment); name != "" {
		authors = append(authors, cdx.OrganizationalContact{Name: name})
	}
	return &cdx.Metadata{
		Authors:   nonEmpty(authors),
		Timestamp: c.Created.UTC().Format(time.RFC3339),
		Tools:     cdxTools(r.Version, versionText(c.Tool)),
		Component: &component,
		Supplier:  cdxSupplier(r.Supplier),
	}
}

// cdxTools returns the metadata of Redoubt: a component, or in 1.4 the older tool element.
func cdxTools(format, version string) *cdx.ToolsChoice {
	if format == "1.4" {
		//lint:ignore SA1019 deprecated since 1.5, and all that 1.4 has
		tools := []cdx.Tool{ //nolint:staticcheck // deprecated since 1.5, all that 1.4 has
			{Vendor: "Redoubt", Name: model.SBOMTool, Version: version},
		}
		return &cdx.ToolsChoice{Tools: &tools}
	}
	return &cdx.ToolsChoice{Components: &[]cdx.Component{{
		Type: cdx.ComponentTypeApplication, Name: model.SBOMTool, Version: version,
	}}}
}

func cdxSupplier(s model.SBOMSupplier) *cdx.OrganizationalEntity {
	if s == (model.SBOMSupplier{}) {
		return nil
	}
	entity := &cdx.OrganizationalEntity{Name: singleLine(s.Name)}
	if u := webAddress(s.URL); u != "" {
		entity.URL = &[]string{u}
	}
	contact := cdx.OrganizationalContact{
		Name:  singleLine(s.Contact.Name),
		Email: s.Contact.Email,
		Phone: singleLine(s.Contact.Phone),
	}
	if contact != (cdx.OrganizationalContact{}) {
		entity.Contact = &[]cdx.OrganizationalContact{contact}
	}
	return entity
}

func cdxPart(p part, kind cdx.ComponentType) cdx.Component {
	c := cdx.Component{BOMRef: p.ref, Type: kind, Name: p.name, Version: p.version}
	if p.url != "" {
		c.ExternalReferences = &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: p.url}}
	}
	if p.branch != "" {
		c.Properties = &[]cdx.Property{{Name: "redoubt:branch", Value: p.branch}}
	}
	return c
}

func cdxComponent(c *component) cdx.Component {
	out := cdx.Component{
		BOMRef: c.ref, Type: cdx.ComponentTypeLibrary, Group: c.group, Name: c.name, Version: c.version,
		PackageURL: c.purl, Licenses: cdxLicenses(c.licenses),
	}
	hashes := make([]cdx.Hash, 0, len(c.hashes))
	for _, h := range c.hashes {
		if h.cyclonedx != "" {
			hashes = append(hashes, cdx.Hash{Algorithm: cdx.HashAlgorithm(h.cyclonedx), Value: h.hex})
		}
	}
	out.Hashes = nonEmpty(hashes)
	if person, isPerson := strings.CutPrefix(c.supplier, personal); isPerson {
		out.Supplier = &cdx.OrganizationalEntity{Contact: &[]cdx.OrganizationalContact{{Name: person}}}
	} else if c.supplier != "" {
		out.Supplier = &cdx.OrganizationalEntity{Name: c.supplier}
	}
	notes := c.notes()
	properties := model.Map(notes, func(n note) cdx.Property { return cdx.Property{Name: n.name, Value: n.value} })
	out.Properties = &properties
	return out
}

// cdxLicenses returns ids and names as a list. An expression must be the only element: if there is
// one, all licenses are joined into an expression, unless one is a mere name.
func cdxLicenses(licenses []license) *cdx.Licenses {
	if len(licenses) == 0 {
		return nil
	}
	var terms []string
	list, compound, named := cdx.Licenses{}, false, false
	for _, l := range licenses {
		compound, named = compound || l.expression != "", named || l.name != ""
		terms = append(terms, l.id+l.expression)
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: l.id, Name: l.expression + l.name}})
	}
	if compound && !named {
		return &cdx.Licenses{{Expression: allOf(terms)}}
	}
	return &list
}

// cdxDependencies returns the known edges. A component that requires nothing has an empty entry; a
// component with unknown requirements has none.
func cdxDependencies(doc document) *[]cdx.Dependency {
	list := make([]cdx.Dependency, 0, 1+len(doc.parts)+len(doc.components))
	for _, p := range append([]part{doc.root}, doc.parts...) {
		list = append(list, cdx.Dependency{Ref: p.ref, Dependencies: nonEmpty(p.uses)})
	}
	for _, c := range doc.components {
		if !c.known {
			continue
		}
		list = append(list, cdx.Dependency{Ref: c.ref, Dependencies: nonEmpty(c.needs)})
	}
	return &list
}

// cdxCompositions lists the components whose requirements may be incomplete.
func cdxCompositions(doc document) *[]cdx.Composition {
	var unknown []cdx.BOMReference
	for _, p := range append([]part{doc.root}, doc.parts...) {
		if p.open {
			unknown = append(unknown, cdx.BOMReference(p.ref))
		}
	}
	for _, c := range doc.components {
		if !c.known {
			unknown = append(unknown, cdx.BOMReference(c.ref))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &[]cdx.Composition{{Aggregate: cdx.CompositionAggregateUnknown, Dependencies: &unknown}}
}
