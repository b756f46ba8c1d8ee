// Package sbom writes bills of materials: what projects depend on, and the
// supply-chain findings about it, as CycloneDX or SPDX documents
// (docs/reference/sbom.md); and what was decided about those findings alone, as OpenVEX.
//
// It is pure but for the storage that Export declares: Content goes in, a
// document comes out, and the same content gives the same bytes whatever its
// order. It knows neither HTTP nor jobs, and reads no report.
//
// What the formats leave open is decided here:
//
//   - Components are merged by package URL. One that no scanner named is made
//     from ecosystem, name and version; an ecosystem without a type of its own
//     becomes pkg:generic.
//   - The root (of an export of a whole deployment: the project) depends on what
//     it asks for itself, and components on what a lockfile says that they ask
//     for. Where no lockfile tells, that is said: in CycloneDX such a component
//     stands outside of the graph, in a composition that is unknown; in SPDX it
//     depends on NOASSERTION. One that asks for nothing stands in the graph
//     without edges, or depends on NONE. So does the root where some of its
//     packages may be its own or others'. Nothing claims to be complete.
//   - A component is merged over lockfiles, and so are its edges: what any of
//     them says holds for all. Its properties name the lockfiles, so that an
//     import restores the inventory; see model.SBOMNote.
//   - A supplier is told where a bill of materials told it. Nobody's name is made
//     of a scope, a group or a host: SPDX says NOASSERTION, CycloneDX nothing.
//   - Several licences of one package all hold: they are listed, or joined
//     with AND where the document takes a single expression. What is no SPDX
//     licence stays as the name it came with.
//   - A vulnerability is listed once per verdict. An open finding carries no
//     analysis. Reviewing is in_triage. Fixing is exploitable, and answered by
//     an update where one is known; but where the scanner says that no code
//     gets there, no verdict is claimed. Ignored is what its comment and reason
//     say (model.VEXOf): a risk that is accepted claims nothing, and will not
//     be fixed. The status_notes of OpenVEX tell exactly what was decided, for
//     another Redoubt that reads it; an SBOM is inventory and moves no decision.
//   - OpenVEX speaks of the projects as products, with the packages as their
//     subcomponents. A document of its kind needs something to say.
//   - CycloneDX 1.4 lacks four component types: platform becomes application,
//     device-driver becomes firmware, machine-learning-model and data become
//     file.
package sbom
