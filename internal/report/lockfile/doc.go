// Package lockfile converts lockfiles and similar files of package managers to inventories of
// packages. The variable formats maps file names to readers; the files of one upload are read
// through one Upload, because some refer to others. Package report imports it, and opens,
// decompresses and limits the files.
package lockfile
