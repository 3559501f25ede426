#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_TABLE_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// Text in columns, as wide as their widest cell, two spaces apart. Lines are cut at the style's width.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column; cells may be painted.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Lines that end in '\n', each after `indent` spaces.
  std::string Render(const Style& style, int indent = 0) const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_TABLE_H_
