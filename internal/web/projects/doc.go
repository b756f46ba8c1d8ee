// Package projects has the pages about projects and their contents: the overview, scans, uploads, dependencies,
// advisories, SBOMs and the first start.
package projects
