package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const noAssertion = "NOASSERTION"

// sbom writes which modules each binary links, as its build information lists them: SPDX 2.3 in JSON.
func (r *release) sbom(context.Context, string) error {
	ferry := &v2_3.Package{
		PackageName: "ferry", PackageSPDXIdentifier: "Package-ferry", PackageVersion: r.version, PackageDownloadLocation: noAssertion,
		PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "APPLICATION",
		PackageExternalReferences: purl("example.com/ferry", r.version),
	}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: "ferry-" + r.number(),
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "ferry-release"}}, Created: r.time.Format("2006-01-02T15:04:05Z"),
		},
		Packages:      []*v2_3.Package{ferry},
		Relationships: []*v2_3.Relationship{relationship("DOCUMENT", "DESCRIBES", "Package-ferry")},
	}
	all := sha256.New()
	modules := map[string]*v2_3.Package{} // by path@version
	for _, b := range r.binaries {
		file, linked, err := r.describe(b)
		if err != nil {
			return err
		}
		doc.Files = append(doc.Files, file)
		doc.Relationships = append(doc.Relationships, relationship(file.FileSPDXIdentifier, "GENERATED_FROM", "Package-ferry"))
		for _, m := range linked {
			p := modulePackage(m)
			modules[m.path+"@"+m.version] = p
			doc.Relationships = append(doc.Relationships, relationship(file.FileSPDXIdentifier, "STATIC_LINK", p.PackageSPDXIdentifier))
		}
		for _, sum := range file.Checksums {
			fmt.Fprintln(all, sum.Value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		doc.Packages = append(doc.Packages, modules[key])
		doc.Relationships = append(doc.Relationships, relationship("Package-ferry", "DEPENDS_ON", modules[key].PackageSPDXIdentifier))
	}
	doc.DocumentNamespace = fmt.Sprintf("https://example.com/ferry/spdx/%s-%x", r.number(), all.Sum(nil))
	var text bytes.Buffer
	if err := spdxjson.Write(doc, &text, spdxjson.Indent(" "), spdxjson.EscapeHTML(false)); err != nil {
		return err
	}
	return os.WriteFile(r.file(fmt.Sprintf("ferry_%s.spdx.json", r.number())), text.Bytes(), 0o644)
}

// module is one that a binary links.
type module struct{ path, version string }

// describe returns a binary as a file of the document, and what it links: the standard library first.
func (r *release) describe(b binary) (*v2_3.File, []module, error) {
	data, err := os.ReadFile(b.path)
	if err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	linked := []module{{"stdlib", info.GoVersion}}
	for _, dep := range info.Deps {
		dep = cmp.Or(dep.Replace, dep)
		linked = append(linked, module{dep.Path, dep.Version})
	}
	of1, of256 := sha1.Sum(data), sha256.Sum256(data) // SPDX demands SHA-1
	return &v2_3.File{
		FileName: fmt.Sprintf("./%s/%s", b, b.program()), FileSPDXIdentifier: elementID("File", b.String()), FileTypes: []string{"BINARY"},
		Checksums: []common.Checksum{
			{Algorithm: common.SHA1, Value: hex.EncodeToString(of1[:])}, {Algorithm: common.SHA256, Value: hex.EncodeToString(of256[:])},
		},
		LicenseConcluded: noAssertion, FileCopyrightText: noAssertion,
	}, linked, nil
}

// modulePackage returns a module as a package of the document.
func modulePackage(m module) *v2_3.Package {
	return &v2_3.Package{
		PackageName: m.path, PackageSPDXIdentifier: elementID("Package", m.path+"-"+m.version), PackageVersion: m.version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PrimaryPackagePurpose: "LIBRARY", PackageExternalReferences: purl(m.path, m.version),
	}
}

// purl returns the package URL, by which scanners look up vulnerabilities.
func purl(path, version string) []*v2_3.PackageExternalReference {
	version = strings.ReplaceAll(version, "+", "%2B")
	return []*v2_3.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + version}}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func elementID(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + notInID.ReplaceAllString(name, "-"))
}

func relationship(a common.ElementID, kind string, b common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.DocElementID{ElementRefID: a}, RefB: common.DocElementID{ElementRefID: b}, Relationship: kind}
}
