package wasm

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// errnoPerm is what the refused functions of WASI return: EPERM. WASI snapshot 01, errno.
const errnoPerm = 63

// refusedWASI are the functions of WASI that return errnoPerm, with the number of their parameters. A symbolic link that a guest makes
// leads out of its mount. A descriptor with a large number makes the host allocate a table with as many entries.
var refusedWASI = map[string]int{"path_symlink": 5, "fd_renumber": 2}

// exportWASI makes the module of WASI.
func (p *Pool) exportWASI(ctx context.Context) error {
	b := p.runtime.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	refuse := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = errnoPerm })
	for name, params := range refusedWASI {
		b.NewFunctionBuilder().WithGoFunction(refuse, slices.Repeat([]api.ValueType{i32}, params), []api.ValueType{i32}).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("wasm: %w", err)
	}
	return nil
}
