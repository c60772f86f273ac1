// The metadata of a module that can be written, as Hot Reload leaves it (src/coreclr/md/inc: mdinternalrw.h,
// liteweightstgdb.h, metamodelrw.h, metamodel.h, stgpool.h). .NET 11 describes it all.
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct EditedMetadataLayout {
  Field stgdb;                                     ///< of MDInternalRW
  Field mini_md;                                   ///< of CLiteWeightStgdbRW: inside of it
  Field schema, table_count, tables;               ///< of CMiniMdRW: `schema` and `tables` inside of it
  Field string_heap, blob_heap, guid_heap;         ///< of CMiniMdRW: inside of it
  Field heaps, sorted, record_counts;              ///< of CMiniMdSchema
  std::uint32_t table_size = 0;                    ///< TableRW
  Field pool_data, pool_next, pool_used;           ///< StgPool: the first piece of a table or heap
  Field segment_data, segment_next, segment_used;  ///< StgPoolSeg: each further piece

  template <class Names>
  void describe(Names& names) {
    names.type("MDInternalRW");
    names.field(stgdb, "Stgdb");
    names.type("CLiteWeightStgdbRW");
    names.field(mini_md, "MiniMd");
    names.type("CMiniMdRW");
    names.field(schema, "Schema");
    names.field(table_count, "TableCount");
    names.field(tables, "Tables");
    names.field(string_heap, "StringHeap");
    names.field(blob_heap, "BlobHeap");
    names.field(guid_heap, "GuidHeap");
    names.type("CMiniMdSchema");
    names.field(heaps, "Heaps");
    names.field(sorted, "Sorted");
    names.field(record_counts, "RecordCounts");
    names.type("TableRW", table_size);
    names.type("StgPool");
    names.field(pool_data, "SegData");
    names.field(pool_next, "NextSegment");
    names.field(pool_used, "DataSize");
    names.type("StgPoolSeg");
    names.field(segment_data, "SegData");
    names.field(segment_next, "NextSegment");
    names.field(segment_used, "DataSize");
  }
};

}  // namespace mixstack::dotnet
