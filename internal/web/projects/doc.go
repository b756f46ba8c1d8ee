// Package projects serves the pages about projects and their contents: the overview, scans,
// uploads, dependencies, advisories, SBOMs and the setup guide.
package projects
