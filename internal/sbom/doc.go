// Package sbom writes bills of materials: what projects depend on, and the
// supply-chain findings about it, as CycloneDX or SPDX documents (semantics
// §11); and what was decided about those findings alone, as OpenVEX.
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
//   - Lockfiles tell no edges between packages, so the root (of an export of a
//     whole deployment: the project) depends on all its components, transitive
//     ones too, and the property redoubt:transitivity tells them apart. The
//     components themselves stand outside the dependency graph, which in
//     CycloneDX means that their own dependencies are unknown.
//   - Several licences of one package all hold: they are listed, or joined
//     with AND where the document takes a single expression. What is no SPDX
//     licence stays as the name it came with.
//   - A vulnerability is listed once per verdict. An open finding carries no
//     analysis. Reviewing is in_triage. Fixing is exploitable, and answered by
//     an update where one is known; but where the scanner says that no code
//     gets there, no verdict is claimed. Ignored is what its comment and reason
//     say (redoubt.VEXOf): a risk that is accepted claims nothing, and will not
//     be fixed. The properties redoubt:triage… tell exactly what was decided,
//     in OpenVEX the status_notes, for another Redoubt that reads it.
//   - OpenVEX speaks of the projects as products, with the packages as their
//     subcomponents. A document of its kind needs something to say.
//   - CycloneDX 1.4 lacks four component types: platform becomes application,
//     device-driver becomes firmware, machine-learning-model and data become
//     file.
package sbom
