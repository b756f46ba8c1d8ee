package bom

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// spdxPackage is an entry of packages. Only required members are decoded, so that errors in other
// members do not affect the package.
type spdxPackage struct {
	ID         read.Text `json:"SPDXID"`
	Name       read.Text `json:"name"`
	Version    read.Text `json:"versionInfo"`
	SourceInfo read.Text `json:"sourceInfo"`
	Supplier   read.Text `json:"supplier"`
	Concluded  read.Text `json:"licenseConcluded"`
	Declared   read.Text `json:"licenseDeclared"`
	Purpose    read.Text `json:"primaryPackagePurpose"`
	References []struct {
		Type    read.Text `json:"referenceType"`
		Locator read.Text `json:"referenceLocator"`
	} `json:"externalRefs"`
	Checksums []struct {
		Algorithm read.Text `json:"algorithm"`
		Value     read.Text `json:"checksumValue"`
	} `json:"checksums"`
}

type spdxRelationship struct {
	From read.Text `json:"spdxElementId"`
	Type read.Text `json:"relationshipType"`
	To   read.Text `json:"relatedSpdxElement"`
}

// ReadSPDX reads SPDX 2.x JSON, package by package.
func ReadSPDX(in *format.Input, o format.Options) ([]*model.Report, error) {
	s := &spdx{bom: newBOM(o, "spdx")}
	s.rep.RulesRun = []string{} // the format has no vulnerabilities, so missing ones are not fixed
	w := in.Walker()
	version := read.Text("")
	err := w.Object("", func(name string) error {
		switch name {
		case "spdxVersion":
			_, err := w.Decode(name, &version)
			return err
		case "creationInfo":
			var info struct {
				Creators read.Texts  `json:"creators"`
				Created  format.Time `json:"created"`
			}
			_, err := w.Decode(name, &info)
			s.rep.StartedAt = info.Created.Time()
			s.creators(info.Creators)
			return err
		case "documentDescribes":
			return w.Strings(name, func(ref string) { s.described = append(s.described, ref) })
		case "packages":
			return w.Array(name, each(w, s.bom, s.pkg))
		case "relationships":
			return w.Array(name, each(w, s.bom, s.relationship))
		}
		return w.Skip(name)
	})
	if err != nil {
		return nil, err
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(version), "SPDX-2.") {
		return nil, fmt.Errorf("spdxVersion %q is not supported; use SPDX-2.3", version.Name())
	}
	s.describe()
	if err := s.finish(); err != nil {
		return nil, err
	}
	return []*model.Report{s.rep}, nil
}

type spdx struct {
	*bom
	described []string
}

// describe excludes the subject of the document, which is the project, if the document contains
// other packages.
func (s *spdx) describe() {
	for _, ref := range s.described {
		p := s.byRef[ref]
		if p != nil && p.image {
			s.rep.Image = format.ImageName(p.name)
		}
		if p != nil && len(s.parts) > 1 {
			p.skip = true
			s.root = ref
		}
	}
}

// creators sets the tool from entries such as "Tool: syft-1.2.0".
func (s *spdx) creators(list read.Texts) {
	for _, creator := range list {
		tool, ok := strings.CutPrefix(creator, "Tool: ")
		if !ok {
			continue
		}
		s.tool(splitTool(tool))
		return
	}
}

// toolVersion matches the start of the version in the name of a tool. The version has several parts
// or a leading v, as in name-1.2.3-rc1 and name-v1.2-5-gabcdef.
var toolVersion = regexp.MustCompile(`-(?:v[0-9]|[0-9]+\.[0-9])`)

// splitTool splits the name and version of a tool, which SPDX joins with a hyphen. The name is part
// of the source (docs/reference/findings.md) and must not change with the version. After Redoubt's
// own name any version is valid.
func splitTool(tool string) (name, version string) {
	if version, ours := strings.CutPrefix(tool, model.SBOMTool+"-"); ours {
		return model.SBOMTool, version
	}
	if at := toolVersion.FindStringIndex(tool); at != nil && at[0] > 0 {
		return tool[:at[0]], tool[at[0]+1:]
	}
	if i := strings.LastIndexByte(tool, '-'); i > 0 &&
		(strings.ContainsAny(tool[i:], "0123456789") || strings.HasPrefix(tool[i:], "-[")) {
		return tool[:i], tool[i+1:]
	}
	return tool, ""
}

func (s *spdx) pkg(_ string, v *spdxPackage) {
	p := &part{
		ref: string(v.ID), name: string(v.Name), version: RealVersion(string(v.Version)),
		location: sourceFile(string(v.SourceInfo)), licenses: licensesOf(string(v.Concluded)),
	}
	if len(p.licenses) == 0 {
		p.licenses = licensesOf(string(v.Declared))
	}
	if name, ok := strings.CutPrefix(string(v.Supplier), "Organization: "); ok || strings.HasPrefix(name, "Person: ") {
		p.supplier = supplierOf(name)
	}
	s.noteSourceInfo(p, string(v.SourceInfo))
	for _, r := range v.References {
		if r.Type == "purl" && p.purl == "" {
			p.purl = string(r.Locator)
		}
	}
	for _, sum := range v.Checksums {
		if hash, ok := archiveHash(string(sum.Algorithm), string(sum.Value)); ok {
			p.hashes = append(p.hashes, hash)
		}
	}
	switch v.Purpose {
	case "APPLICATION":
		p.software = true
	case "FILE", "OPERATING-SYSTEM", "OPERATING_SYSTEM", "CONTAINER", "DEVICE", "FIRMWARE":
		p.skip, p.image = true, v.Purpose == "CONTAINER"
	}
	s.Add(p)
}

// sourceFile returns the lockfile in syft's "acquired package info from rust cargo manifest:
// /Cargo.lock, /x".
func sourceFile(info string) string {
	origin, files, _ := strings.Cut(info, ": ")
	if !strings.HasPrefix(origin, "acquired package info from ") {
		return ""
	}
	for file := range strings.SplitSeq(files, ", ") {
		if lockfile.Is(file) {
			return file
		}
	}
	return ""
}

func (s *spdx) relationship(_ string, r *spdxRelationship) {
	from, to := string(r.From), string(r.To)
	switch {
	case to == "NONE" || to == "NOASSERTION": // it requires nothing, or its requirements are unknown
	case r.Type == "DESCRIBES":
		s.described = append(s.described, to)
	case r.Type == "DESCRIBED_BY":
		s.described = append(s.described, from)
	case r.Type == "DEPENDS_ON":
		s.link(from, to)
	case r.Type == "DEPENDENCY_OF", strings.HasSuffix(string(r.Type), "_DEPENDENCY_OF"):
		s.link(to, from)
	}
}
