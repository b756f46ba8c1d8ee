// Package sbom writes bills of materials of projects as CycloneDX or SPDX documents, and triage
// decisions as OpenVEX (docs/reference/sbom.md). Equal content results in equal bytes, independent
// of its order. The package depends on storage only through the Store interface of Export.
//
// The formats leave these decisions open:
//
//   - Components are merged by package URL. If a scanner reported none, it is built from
//     ecosystem, name and version; an ecosystem without a type becomes pkg:generic.
//   - The root (in an export of a deployment: the project) depends on its direct dependencies.
//     Components depend on their requirements in the lockfile.
//   - If no lockfile contains a component's requirements, they are unknown. CycloneDX omits the
//     component from the graph and lists it in a composition with aggregate unknown. SPDX has a
//     dependency on NOASSERTION.
//   - A component without requirements has no edges in CycloneDX and depends on NONE in SPDX.
//   - The root is unknown as well if some packages may be direct or transitive. No document claims
//     to be complete.
//   - Components and their edges are merged over all lockfiles. Properties name the lockfiles, so
//     that an import restores the inventory; see model.SBOMNote.
//   - The supplier is the one in an imported bill of materials. It is never derived from a scope,
//     group or host: SPDX has NOASSERTION, and CycloneDX omits it.
//   - Several licenses of a package all apply. They are listed, or joined with AND where the
//     document requires a single expression. A license that is not in SPDX's list retains its
//     name.
//   - A vulnerability is listed once per verdict. Open findings have no analysis. Reviewing is
//     in_triage.
//   - Fixing is exploitable, with the response update if a fixed version is known. If the code is
//     unreachable, the state is omitted.
//   - Ignored findings have the verdict of their comment and reason (model.VEXOf). An accepted
//     risk has no state and the response will_not_fix.
//   - The status_notes of OpenVEX contain the exact triage for an import by another instance of
//     Redoubt. Decisions are not imported from SBOMs.
//   - OpenVEX lists projects as products, and packages as their subcomponents. An OpenVEX document
//     requires at least one statement.
//   - CycloneDX 1.4 lacks four component types. Platform becomes application, and device-driver
//     becomes firmware. Machine-learning-model and data become file.
package sbom
